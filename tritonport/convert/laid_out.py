"""Statements that stand on several lines, laid out anew: those that a conversion has made too long where they stood."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence


def laid_out_anew(lines: Sequence[str], known: set[str], broken: Callable[[str], list[str]], limit: int) -> list[str]:
    """Lines in which each statement with a line that is too long has been joined and broken again, if that is shorter.

    Args:
        known: lines of the source, which stay as they are.
        broken: breaks one line.
    """
    found = list(lines)
    text = "\n".join(found)
    try:
        spans = sorted(set(_spans(ast.parse(text))), reverse=True)
    except SyntaxError:
        return found
    for first, last in spans:
        own = found[first - 1 : last]
        long = [line for line in own if len(line.rstrip("\r")) > limit and line not in known]
        joined = _joined(own) if long and first < last else None
        made = broken(joined) if joined is not None else own
        if max(map(len, made)) > max(map(len, own)) or sum(len(line) > limit for line in made) >= len(long):
            continue
        ending = "\r" if own[0].endswith("\r") else ""
        other = [*found[: first - 1], *(line + ending for line in made), *found[last:]]
        if ast.dump(ast.parse("\n".join(other))) == ast.dump(ast.parse("\n".join(found))):
            found = other
    return found


def _spans(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """First and last line of each statement that holds no other, and of the head of each function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.lineno, node.body[0].lineno - 1
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node.lineno, node.end_lineno or node.lineno


def _joined(lines: Sequence[str]) -> str | None:
    """The lines of one statement as one; None where comments or strings of several lines are in them."""
    text = lines[0].rstrip()
    for line in (one.strip() for one in lines[1:]):
        space = "" if text.endswith(("(", "[", "{")) or line[:1] in (")", "]", "}", "") else " "
        text += space + line
    whole = any("#" in line or line.endswith("\\") or '"""' in line for line in lines)
    return None if whole else text


__all__ = ["laid_out_anew"]
