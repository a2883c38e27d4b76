"""Which definitions of block pointers share their variables, and which of their parts need one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.block_pointers.definitions import Definition, Part, Place, Use
from tritonport.analysis.block_pointers.reader import Reader
from tritonport.analysis.values import Refusal
from tritonport.source.walk import walk

_SUFFIX = re.compile(r"_?(block_?ptrs?|blk_?ptrs?|bptrs?|block_pointers?|desc|descriptor)$", re.IGNORECASE)


@dataclass(eq=False)
class Web:
    """Definitions that share their variables.

    Attributes:
        inline: the parts that are written out where they are used. variables: the names of the others. vectors: the
        names of the offset vectors, by dimension. at_make: the dimensions whose vector is made where the pointer is:
        there is one place, nothing moves it, and no loop
            stands in between.
    """

    name: str
    rank: int
    definitions: list[Definition] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    inline: dict[Part, str] = field(default_factory=dict)
    variables: dict[Part, str] = field(default_factory=dict)
    vectors: dict[int, str] = field(default_factory=dict)
    at_make: frozenset[int] = frozenset()

    def reference(self, part: Part) -> str:
        """A part as it is spelled at a use."""
        return self.variables[part] if part in self.variables else self.inline[part]

    @property
    def parameter(self) -> str | None:
        """The parameter of a helper that the block pointer comes in through."""
        return next((made.name for made in self.definitions if made.how == "parameter"), None)

    @property
    def accesses(self) -> list[Use]:
        return [use for use in self.uses if use.how in ("load", "store")]


def parts_of(rank: int) -> Iterator[Part]:
    """Every part of a block pointer, in the order of make_block_ptr's parameters."""
    yield "base", 0
    for kind in ("shape", "stride", "offset", "block"):
        for dim in range(rank):
            yield kind, dim


class Webs:
    """The webs of one function. `fresh` gives a name that nothing in the function or the file has."""

    def __init__(self, reader: Reader, fresh: Callable[[str], str]) -> None:
        self.reader = reader
        self.fresh = fresh
        self._parent: dict[Definition, Definition] = {}
        definitions = list(reader.definitions.values())
        for use in reader.uses.values():
            self._union([*use.definitions])
        for made in definitions:
            self._union([*made.sources])
            if any(source.name == made.name and made.how == "advance" and made.name for source in made.sources):
                self._union([made, *made.sources])
        self.webs: dict[Definition, Web] = {}
        self.extra: dict[int, dict[Part, str]] = {}
        for made in definitions:
            self.of(made).definitions.append(made)
        for use in reader.uses.values():
            self.of(next(iter(use.definitions))).uses.append(use)
        self._deciding: list[Web] = []
        self._decided: set[int] = set()
        for web in self.all():
            self._decide(web)

    def all(self) -> list[Web]:
        return list(self.webs.values())

    def of(self, definition: Definition) -> Web:
        root = self._find(definition)
        if root not in self.webs:
            self.webs[root] = Web(_prefix(definition), definition.rank)
        return self.webs[root]

    def _find(self, item: Definition) -> Definition:
        while self._parent.get(item, item) is not item:
            item = self._parent[item]
        return item

    def _union(self, items: list[Definition]) -> None:
        for other in items[1:]:
            a, b = self._find(items[0]), self._find(other)
            if a is not b:
                if a.rank != b.rank:
                    raise Refusal("TP203", f"the block pointer {b.name} has different ranks on different paths", b.node)
                self._parent[b] = a

    # -- what a definition says of a part

    def starts_from(self, made: Definition) -> Web | None:
        """The web that an advance or a copy under another name takes its parts from; None for an advance in place."""
        if not made.sources:
            return None
        source = self.of(next(iter(made.sources)))
        return None if source is self.of(made) else source

    def setting(self, made: Definition, part: Part) -> str | None:
        """What a definition gives a part, as text; None where it leaves it, or only moves it."""
        source = self.starts_from(made)
        if source is not None:
            text = source.reference(part)
            amount = made.parts.get(part)
            if amount is None or text == "0":
                return text if amount is None else amount
            return f"{text} + {grouped(amount)}"
        return made.parts.get(part) if made.how == "make" else None

    def moves(self, made: Definition, part: Part) -> str | None:
        """What an advance in place adds to a part."""
        return made.parts.get(part) if made.how == "advance" and self.starts_from(made) is None else None

    def derived(self, web: Web) -> list[Definition]:
        """Definitions of other webs that start from this one."""
        return [made for made in self.reader.definitions.values() if self.starts_from(made) is web]

    # -- decisions

    def _decide(self, web: Web) -> None:
        if id(web) in self._decided:
            return
        self._deciding.append(web)
        for made in web.definitions:
            source = self.starts_from(made)
            if source is not None and source not in self._deciding:
                self._decide(source)
        cyclic = any(self.starts_from(made) in self._deciding for made in web.definitions)
        self._deciding.remove(web)
        self._decided.add(id(web))
        exposed = bool(self.derived(web)) or any(use.how == "argument" for use in web.uses)
        moved = {part for made in web.definitions for part in made.parts if self.moves(made, part) is not None}
        made_once = [made for made in web.definitions if made.how != "advance" or self.starts_from(made) is not None]
        if web.accesses and len(made_once) == 1 and made_once[0].how != "parameter" and self._nearby(made_once[0], web):
            web.at_make = frozenset(dim for dim in range(web.rank) if ("offset", dim) not in moved)
        for part in parts_of(web.rank):
            if part[0] == "offset" and part[1] in web.at_make and not exposed:
                continue
            if web.parameter is not None:
                web.variables[part] = self.fresh(f"{web.name}_{_label(part, web.rank)}")
            elif not cyclic and part not in moved and self._is_inline(web, part):
                web.inline[part] = next(iter(self._texts(web, part)))
            elif part[0] == "block" and cyclic:
                raise Refusal("TP110", f"the block shape of {web.name} changes in a loop", web.definitions[0].node)
            else:
                web.variables[part] = self.fresh(f"{web.name}_{_label(part, web.rank)}")
            if part in web.variables:
                for made in web.definitions:
                    sets = self.setting(made, part) if not cyclic else True
                    if sets is not None or self.moves(made, part) is not None:
                        self.reader.assigned.setdefault(web.variables[part], []).append(made.place)
        if web.accesses:
            web.vectors = {dim: self.fresh(f"{web.name}_{vector_label(dim, web.rank)}") for dim in range(web.rank)}

    def _nearby(self, made: Definition, web: Web) -> bool:
        """Whether no loop stands between a definition and the accesses: offset vectors would fill registers through
        it."""
        loops = [place.number for node, place in self.reader.places.items() if isinstance(node, (cst.For, cst.While))]
        return all(
            use.place.loops == made.place.loops
            and not any(made.place.number < loop < use.place.number for loop in loops)
            for use in web.accesses
        )

    def _texts(self, web: Web, part: Part) -> set[str]:
        return {text for made in web.definitions if (text := self.setting(made, part)) is not None}

    def _is_inline(self, web: Web, part: Part) -> bool:
        texts = self._texts(web, part)
        if len(texts) != 1:
            return False
        text = next(iter(texts))
        node = cst.parse_expression(text)
        if not _is_pure(node):
            return False
        users = [use.place for use in web.uses] + [made.place for made in self.derived(web)]
        if part[0] == "base" and len(text) > 40 and len(web.accesses) > 1:
            return False
        names = {item.value for item in walk(node) if isinstance(item, cst.Name)}
        made_at = [made.place for made in web.definitions if self.setting(made, part) is not None]
        return all(self._stable(names, made, user) for made in made_at for user in users)

    def _stable(self, names: set[str], made: Place, user: Place) -> bool:
        """Whether an expression of these names has, at the use, the value it had where the pointer was made."""
        places = [place for name in names for place in self.reader.assigned.get(name, ())]
        if made.number >= user.number and not (made.number == user.number and made is user):
            return not places
        entered = [loop for loop in user.loops if loop not in made.loops]
        return not any(
            made.number < place.number < user.number or any(loop in place.loops for loop in entered) for place in places
        )


def _is_pure(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Call):
        # A conversion of a number: `i.to(tl.int64)`.
        method = isinstance(node.func, cst.Attribute) and node.func.attr.value == "to"
        return method and all(_is_pure(part) for part in (node.func, *(argument.value for argument in node.args)))
    if isinstance(node, cst.Attribute):
        return _is_pure(node.value)
    if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation)):
        return all(
            _is_pure(item)
            for item in ([node.left, node.right] if isinstance(node, cst.BinaryOperation) else [node.expression])
        )
    if isinstance(node, cst.Subscript):
        return isinstance(node.value, cst.Name) and all(
            isinstance(item.slice, cst.Index) and isinstance(item.slice.value, cst.Integer) for item in node.slice
        )
    return isinstance(node, (cst.Name, cst.Integer))


def _prefix(definition: Definition) -> str:
    """`q` for `q_block_ptr`, `p_q` for `p_q`; a pointer without a name is called after its base."""
    name = definition.name or next((source.name for source in definition.sources if source.name), "")
    if not name:
        found = re.search(r"[A-Za-z]\w*", definition.parts.get(("base", 0), ""))
        name = f"{found.group()}_tile" if found else "tile"
        return name
    return _SUFFIX.sub("", name) or name


def _label(part: Part, rank: int) -> str:
    kind, dim = part
    if kind == "base":
        return "base"
    if kind != "offset":
        return f"{kind}{dim}" if rank > 1 else kind
    if rank == 1:
        return "start"
    return ("row", "col")[dim] if rank == 2 else f"start{dim}"


def vector_label(dim: int, rank: int) -> str:
    """`rows` and `cols` for the offset vectors of a tile, `offs` for that of a row."""
    if rank == 1:
        return "offs"
    return ("rows", "cols")[dim] if rank == 2 else f"offs{dim}"


def grouped(text: str) -> str:
    """Parentheses around what is more than one term."""
    node = cst.parse_expression(text)
    if isinstance(node, (cst.Name, cst.Integer, cst.Attribute, cst.Call, cst.Subscript)) or getattr(node, "lpar", None):
        return text
    return f"({text})"
