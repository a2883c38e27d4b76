"""Where the statements of a loop read its tiles, by whatever name, and which reads may go on behind a statement."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, children, walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.facts import Facts, may_meet
from tritonport.upgrade.multibuffer.commits import awaited_calls, awaited_products
from tritonport.upgrade.multibuffer.operations import bound, gluon_name

_TYPE = frozenset({"dtype", "shape", "type", "layout", "rank", "numel"})
_VIEWS = frozenset({"permute", "reshape", "index", "slice", "reinterpret", "_reinterpret"})
_WRITES = ("store", "scatter", "atomic_")
_TURNS = re.compile(r"landed(_\d+)?")
"""The function of the port that may turn a tile where it is, before anything else reads it."""
_LATER = ("tma.", "tcgen05_", "async_copy.", "mbarrier.", "async_store", "warp_specialize")
_DEPTH = 12


class Unknown(Exception):
    """A use of a tile of which nothing says when it ends."""

    def __init__(self, tile: str, text: str) -> None:
        super().__init__(text)
        self.tile = tile
        self.text = text


@dataclass
class Uses:
    """What the statements of a loop do with its tiles.

    Attributes:
        first, last: per tile the index of the first and the last statement that reads it.
        at_end: names that still stand for tiles when an iteration ends, which, and what holds of the launches then.
    """

    first: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    at_end: list[tuple[str, set[str], Facts]] = field(default_factory=list)


def uses_of(
    module: SourceModule,
    body: Sequence[cst.BaseStatement],
    tiles: Iterable[str],
    skipped: Iterable[int],
    facts: Sequence[Facts],
) -> Uses:
    """The reads of tiles in a loop's body, but for the statements at `skipped`, which fill them or wait for them.

    Args:
        facts: under which `if`s that are decided when the kernel is compiled each statement stands.

    Raises:
        Unknown: a tile is written, or read by something that may go on behind its statement.
    """
    known = _Known({name: {name} for name in tiles})
    reader = _Reader(module, {})
    reader.awaited = awaited_calls(module, cst.IndentedBlock(list(body)))
    ends = awaited_products(module, body)
    found, left_out = Uses(), set(skipped)
    for place, statement in enumerate(body):
        if place in left_out:
            continue
        reader.names = known.under(facts[place])
        for tile in reader.read_by(statement):
            found.first.setdefault(tile, place)
            found.last[tile] = ends.get(place, place)
        reader.run(statement)
        known.run(statement, reader.names, facts[place])
    found.at_end = list(known.at_end())
    return found


class _Known:
    """What names stand for which tiles, by the `if`s under which they were assigned."""

    def __init__(self, tiles: Mapping[str, set[str]]) -> None:
        self.tiles = tiles
        self.values: dict[str, list[tuple[Facts, set[str]]]] = {
            name: [(frozenset(), found)] for name, found in tiles.items()
        }

    def under(self, facts: Facts) -> dict[str, set[str]]:
        """What each name may stand for at a place."""
        found: dict[str, set[str]] = {}
        for name, values in self.values.items():
            found[name] = set()
            for when, tiles in reversed(values):
                if may_meet(when, facts):
                    found[name] |= tiles
                if when <= facts:
                    break
        return found

    def run(self, statement: cst.BaseStatement, names: Mapping[str, set[str]], facts: Facts) -> None:
        """Go on behind a statement, which has given its names other values."""
        for name in assigned_names(cst.IndentedBlock([statement])):
            if name in names:
                self.values.setdefault(name, []).append((facts, set(names[name])))

    def at_end(self) -> Iterator[tuple[str, set[str], Facts]]:
        """The values that names other than the tiles' own have behind all statements."""
        for name, values in self.values.items():
            for place, (when, tiles) in enumerate(values):
                if tiles and name not in self.tiles and not any(later <= when for later, _ in values[place + 1 :]):
                    yield name, tiles, when


class _Reader:
    """Follows names that stand for tiles through statements.

    Attributes:
        names: what stands for which tiles now.
        returned: the tiles that the value of a function may stand for.
        awaited: the calls that start a product which is over before the next statements read on, by id.
        calls: the functions of the file that are being read.
        known: what functions return for the tiles that their arguments stand for.
    """

    def __init__(
        self,
        module: SourceModule,
        names: Mapping[str, set[str]],
        calls: tuple[Kernel, ...] = (),
        known: dict[tuple[Kernel, frozenset[tuple[str, frozenset[str]]]], set[str]] | None = None,
    ) -> None:
        self.module = module
        self.names = dict(names)
        self.calls = calls
        self.known = known if known is not None else {}
        self.returned: set[str] = set()
        self.awaited: set[int] = set()
        self.functions = {kernel.name: kernel for kernel in module.kernels if not kernel.scope}

    def read_by(self, statement: cst.CSTNode) -> set[str]:
        """The tiles that a statement names, but where it only gives a name another value."""
        nodes = list(walk(statement))
        targets = {id(node.target) for node in nodes if isinstance(node, cst.AssignTarget)}
        found: set[str] = set()
        for node in nodes:
            if isinstance(node, cst.Name) and id(node) not in targets:
                found |= self.names.get(node.value, set())
        return found

    def run(self, statement: cst.CSTNode) -> None:
        """Go on behind a statement."""
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                self._small(small, certain=True)
            return
        # In a branch or an inner loop, what a name stood for before may stay.
        small_ones = [node for node in walk(statement) if isinstance(node, cst.BaseSmallStatement)]
        for _ in range(len(small_ones) + 1):
            before = {name: set(tiles) for name, tiles in self.names.items()}
            for small in small_ones:
                self._small(small, certain=False)
            if before == self.names:
                break
        for node in walk(statement):
            if isinstance(node, (cst.If, cst.While)):
                self._tiles(node.test)

    def _small(self, small: cst.BaseSmallStatement, certain: bool) -> None:
        value = getattr(small, "value", None)
        if not isinstance(value, cst.BaseExpression):
            if self.read_by(small):
                raise Unknown(min(self.read_by(small)), f"`{code(small)}` is no plain use of it")
            return
        made = self._tiles(value)
        if isinstance(small, cst.Return):
            self.returned |= made
        for name in assigned_names(cst.SimpleStatementLine([small])):
            if isinstance(small, cst.AugAssign) or not certain:
                made = made | self.names.get(name, set())
            self.names[name] = set(made)

    def _tiles(self, node: cst.CSTNode) -> set[str]:
        """The tiles that the value of an expression stands for; empty for one in registers."""
        if isinstance(node, cst.Name):
            return self.names.get(node.value, set())
        if isinstance(node, cst.Attribute):
            return set() if node.attr.value in _TYPE else self._tiles(node.value)
        if isinstance(node, cst.Call):
            return self._call(node)
        found = set().union(*(self._tiles(child) for child in children(node)))
        # Arithmetic takes values in registers alone.
        value = isinstance(node, (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.BooleanOperation))
        return set() if value else found

    def _call(self, call: cst.Call) -> set[str]:
        given: set[str] = set().union(*(self._tiles(argument.value) for argument in call.args))
        function = call.func
        if isinstance(function, cst.Attribute) and (base := self._tiles(function.value)):
            method = function.attr.value
            if method == "store" and self.calls and _TURNS.fullmatch(self.calls[-1].name):
                return set()  # done with the statement, like a read
            if method.startswith(_WRITES):
                raise Unknown(min(base), f"`{code(call)}` writes to it")
            return base if method in _VIEWS else set()
        if not given:
            return set()
        name = gluon_name(self.module, call)
        if name:
            return self._instruction(call, name, given)
        path = dotted(function) or ""
        if path in self.functions:
            return self._function(self.functions[path], call, given)
        # What is no kernel runs when the kernel is compiled.
        if path in self.module.bindings.functions or hasattr(builtins, path):
            return set()
        raise Unknown(min(given), f"nothing says what `{code(call.func)}` does with it")

    def _instruction(self, call: cst.Call, name: str, given: set[str]) -> set[str]:
        last = name.split(".")[-1]
        if id(call) in self.awaited:
            return set()
        if any(part in name for part in _LATER):
            raise Unknown(min(given), f"`{code(call.func)}` may read it later")
        if last == "warpgroup_mma":
            return given if _is_async(call) else set()
        if last == "warpgroup_mma_wait":
            return set() if _outstanding(call) == "0" else given
        # All others take values in registers, and give such.
        return set()

    def _function(self, kernel: Kernel, call: cst.Call, given: set[str]) -> set[str]:
        """The tiles that the result of a function of the file stands for, from what it does with its arguments."""
        if len(self.calls) > _DEPTH or kernel in self.calls:
            raise Unknown(min(given), f"`{kernel.name}` calls itself, or others too deep to follow")
        parameters = tuple(parameter.name for parameter in kernel.parameters)
        arguments = bound(call, parameters)
        names = (
            {name: set(given) for name in parameters}
            if arguments is None
            else {name: self._tiles(argument.value) for name, argument in arguments.items()}
        )
        key = (kernel, frozenset((name, frozenset(tiles)) for name, tiles in names.items() if tiles))
        if key not in self.known:
            inner = _Reader(self.module, names, (*self.calls, kernel), self.known)
            inner.awaited = awaited_calls(self.module, kernel.node.body)
            inner.run(kernel.node.body)
            self.known[key] = inner.returned
        return self.known[key]


def _is_async(call: cst.Call) -> bool:
    said = [argument.value for argument in call.args if argument.keyword and argument.keyword.value == "is_async"]
    return bool(said) and not (isinstance(said[0], cst.Name) and said[0].value == "False")


def _outstanding(call: cst.Call) -> str:
    """How many instructions a wait leaves under way, as source text."""
    for place, argument in enumerate(call.args):
        keyword = argument.keyword.value if argument.keyword is not None else None
        if keyword == "num_outstanding" or (keyword is None and place == 0):
            return code(argument.value)
    return "0"


__all__ = ["Unknown", "Uses", "uses_of"]
