"""Locations of MLIR, from their text: `loc(callsite("x"("/a.py":3:2000) at "/b.py":7:9000))`."""

from __future__ import annotations

import re

from tritonport.layouts.recover.claims import Chain
from tritonport.layouts.recover.numbering import number_from_column

_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(callsite|fused|unknown|at|to|loc)\b|(\d+)|(.))', re.DOTALL)


class _Reader:
    """A parser by recursive descent; every location is the list of the chains it can be."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        for match in _TOKEN.finditer(text):
            kind = ("text", "word", "number", "mark")[(match.lastindex or 4) - 1]
            self.tokens.append((kind, match[match.lastindex or 4]))
        self.place = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def next(self) -> tuple[str, str]:
        token = self.peek()
        self.place += 1
        return token

    def skip(self, value: str) -> bool:
        if self.peek()[1] == value and self.peek()[0] in ("mark", "word"):
            self.place += 1
            return True
        return False

    def location(self) -> list[Chain]:
        kind, value = self.next()
        if kind == "word" and value == "loc":
            self.skip("(")
            found = self.location()
            self.skip(")")
            return found
        if kind == "word" and value == "callsite":
            self.skip("(")
            inner = self.location()
            self.skip("at")
            outer = self.location()
            self.skip(")")
            return [(*one, *other) for one in inner for other in outer]
        if kind == "word" and value == "fused":
            return self._fused()
        if kind != "text":
            return [()]
        if self.skip("("):  # a name, and where the named value was made
            found = self.location()
            self.skip(")")
            return found
        numbers = []
        while self.skip(":"):
            numbers.append(int(self.next()[1]))
        if self.skip("to"):  # a range of columns or lines; its begin is enough
            while self.skip(":"):
                self.next()
        return [((value, numbers[0], number_from_column(numbers[1])),)] if len(numbers) > 1 else [()]

    def _fused(self) -> list[Chain]:
        if self.skip("<"):
            while not self.skip(">"):
                self.next()
        self.skip("[")
        found = self.location()
        while self.skip(","):
            found += self.location()
        self.skip("]")
        return found


def chains(text: str) -> list[Chain]:
    """The expressions that a location names, each with the calls around it, innermost first; empty for an unknown
    one."""
    return [chain for chain in _Reader(text).location() if chain]


__all__ = ["chains"]
