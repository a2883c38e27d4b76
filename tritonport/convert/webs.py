"""Which assignments of a name belong together.

Definitions that meet, at the head of a loop or after an `if`, must have one type in Gluon, layout included: they form
a web. A web of expensive values has one layout. A web of cheap values has one copy of the variable per layout it is
asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.terms import Term
from tritonport.analysis.values import Kind, Value
from tritonport.convert.wants import Want, key, same_want
from tritonport.source.walk import walk

Key = object


@dataclass(eq=False)
class Web:
    name: str
    definitions: list[list[Definition]] = field(default_factory=list)
    """Per frame, the definitions of the web."""
    copies: dict[tuple[object, ...], tuple[Want, str]] = field(default_factory=dict)
    """Per layout, the wanted terms and the name of the variable that holds them."""

    @property
    def is_tensor(self) -> bool:
        return any(definition.value.is_tensor for frame in self.definitions for definition in frame)

    @property
    def values(self) -> list[Value]:
        """What the variable may be."""
        return [definition.value for frame in self.definitions for definition in frame]

    @property
    def expensive(self) -> bool:
        return any(
            definition.value.is_tensor and definition.value.focus is not None
            for frame in self.definitions
            for definition in frame
        )

    @property
    def reads_itself(self) -> bool:
        """Whether an assignment computes the variable from another value of its name."""
        sources = [found.expression or found.statement for frame in self.definitions for found in frame]
        return any(
            isinstance(node, cst.Name) and node.value == self.name
            for source in sources
            if source is not None
            for node in walk(source)
        )

    @property
    def is_tuple(self) -> bool:
        return any(definition.value.kind is Kind.TUPLE for frame in self.definitions for definition in frame)

    @property
    def bound(self) -> Want:
        """The one layout of an expensive web: that of its innermost merge, else of its definition.

        None for a merge whose branches keep their own.
        """
        return tuple(self._bound(definitions) for definitions in self.definitions)

    @staticmethod
    def _bound(definitions: list[Definition]) -> Term | None:
        candidates = [
            definition
            for definition in definitions
            if definition.value.is_tensor and definition.value.focus is not None
        ]
        if not candidates:
            return None
        chosen = max(candidates, key=lambda definition: (definition.how == "phi", definition.depth))
        return None if chosen.value.loose else chosen.value.term

    staged: dict[tuple[object, ...], tuple[int, Want, str]] = field(default_factory=dict)
    """The dots that read the variable from shared memory: operand index, layout of the result, and the precision where
    it is not the default."""
    staged_name: str = ""
    """What the tile in shared memory is called."""

    def ask(self, want: Want) -> bool:
        """Ask for a copy in a layout; True where it is new.

        What calls of a helper ask that do not all reach one place is asked of one copy.
        """
        for known, (have, name) in self.copies.items():
            if same_want(have, want):
                both = tuple(new if old is None else old for old, new in zip(have, want, strict=True))
                if key(both) == known:
                    return False
                entries = [
                    (key(both), (both, name)) if item == known else (item, found) for item, found in self.copies.items()
                ]
                self.copies = dict(entries)
                return True
        self.copies[key(want)] = (want, self.name)
        return True

    def copy(self, want: Want) -> str:
        """The name of the copy in a layout that was asked for."""
        return next(name for have, name in self.copies.values() if same_want(have, want))


def base_keys(definition: Definition, seen: set[int] | None = None, rank: int | None = None) -> set[Key]:
    """The assignments (by their target node) and parameters (by name) behind a definition.

    Tensors of another `rank` than the one that a merge has are left out: they only reach it on paths that are not
    compiled, and keep a layout of their own.
    """
    seen = seen if seen is not None else set()
    if id(definition) in seen or (definition.value.is_tensor and rank not in (None, definition.value.rank)):
        return set()
    seen.add(id(definition))
    if definition.how == "parameter":
        return {definition.name}
    if definition.how == "phi":
        if definition.value.is_tensor:
            rank = definition.value.rank
        found: set[Key] = set()
        for source in definition.sources:
            found |= base_keys(source, seen, rank)
        return found
    assert definition.statement is not None
    return {definition.statement}


class Webs:
    """The webs of one function over all of its frames."""

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames
        self._parent: dict[Key, Key] = {}
        groups: list[tuple[set[Key], Definition, int]] = []
        for index, frame in enumerate(frames):
            merges = [merge for merge in frame.merges if not merge.unread and merge.value.op != "mixed"]
            for definition in [*frame.parameters.values(), *frame.targets.values(), *merges]:
                keys = base_keys(definition)
                groups.append((keys, definition, index))
                first = next(iter(keys), None)
                for other in keys:
                    self._union(first, other)
        self._webs: dict[Key, Web] = {}
        for keys, definition, index in groups:
            if keys:
                self.of_keys(keys, definition.name).definitions[index].append(definition)

    def _find(self, item: Key) -> Key:
        while self._parent.get(item, item) is not item:
            item = self._parent[item]
        return item

    def _union(self, left: Key, right: Key) -> None:
        self._parent.setdefault(left, left)
        self._parent.setdefault(right, right)
        a, b = self._find(left), self._find(right)
        if a is not b:
            self._parent[b] = a

    def of_keys(self, keys: set[Key], name: str) -> Web:
        root = self._find(next(iter(keys)))
        if root not in self._webs:
            self._webs[root] = Web(name, [[] for _ in self.frames])
        return self._webs[root]

    def of_definition(self, definition: Definition) -> Web:
        return self.of_keys(base_keys(definition), definition.name)

    def of_target(self, node: cst.CSTNode, name: str) -> Web:
        return self.of_keys({node}, name)

    def all(self) -> list[Web]:
        return list(self._webs.values())
