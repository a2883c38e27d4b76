"""The rings of tiles that a loop reads: where each comes from, when it is waited for, what fills it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.syntax import bare_call
from tritonport.source.walk import walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.mma.spelling import FileReader, names_assigned, one_line, simple_assignment
from tritonport.upgrade.mma.staging import COPIED, STAGED, is_copied
from tritonport.upgrade.mma.unchanged import writer_of

VIEWS = frozenset({"permute", "reshape", "trans"})


class Refusal(Exception):
    """Why a dot stays synchronous."""


@dataclass(frozen=True)
class Tile:
    """An operand that stands in a ring.

    Attributes:
        ring, slot, depth: `ring.index(slot)`, of `depth` tiles.
        chain: the statements of the loop's body by which a dot gets it.
    """

    ring: str
    slot: str
    depth: str
    chain: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ring:
    """A ring as a loop uses it; statements by their index in the body.

    Attributes:
        ready: its barriers; None where cp.async fills it.
        waits: the statements that wait for a tile.
        refills: the statements that begin to copy a later one.
    """

    name: str
    slot: str
    depth: str
    ready: str | None
    waits: tuple[int, ...]
    refills: tuple[int, ...]


@dataclass(frozen=True)
class LoopText:
    """One loop, its statements, and the function that it stands in.

    Attributes:
        block: the statements among which the loop stands.
        place: its index there.
        node: the loop, as the stage reads it: see `unstaged` and `FileReader.synchronous`.
        original: as it stands in the file.
    """

    function: cst.FunctionDef
    block: tuple[cst.BaseStatement, ...]
    place: int
    node: cst.For
    original: cst.For
    reader: FileReader

    @property
    def body(self) -> Sequence[cst.BaseStatement]:
        """The statements of the loop."""
        assert isinstance(self.node.body, cst.IndentedBlock)
        return list(self.node.body.body)

    @property
    def index(self) -> str:
        """The loop variable."""
        return code(self.node.target)

    @property
    def step(self) -> cst.BaseExpression | None:
        """What an iteration adds to the loop variable; None where the loop leaves it out."""
        call = self.node.iter
        given = [one.value for one in call.args if one.keyword is None] if isinstance(call, cst.Call) else []
        return given[2] if len(given) > 2 else None

    @property
    def backwards(self) -> bool:
        """Whether the loop counts down by a size: `range(K, 0, -BLOCK_K)`."""
        return isinstance(self.step, cst.UnaryOperation) and isinstance(self.step.operator, cst.Minus)

    def assignments(self, name: str) -> list[int]:
        """The statements of the body that assign a variable."""
        return [place for place, statement in enumerate(self.body) if name in names_assigned(statement)]

    # -- operands

    def tile(self, node: cst.BaseExpression, before: int) -> Tile | None:
        """The tile of a ring that an operand is, at the statement `before`; None for one that no iteration changes.

        Raises:
            Refusal: it is neither, as far as the text shows.
        """
        if isinstance(node, cst.Name):
            places = self.assignments(node.value)
            if not places:
                if node.value == self.index:
                    raise Refusal(f"its operand {node.value} is the loop's index")
                writer = writer_of(node.value, self.node, self.function, self.reader)
                if writer is not None:
                    raise Refusal(f"its operand {node.value} is no tile of a ring, and `{writer}` may write to it")
                return None
            made = simple_assignment(self.body[places[0]])
            if len(places) > 1 or made is None or places[0] >= before:
                raise Refusal(f"its operand {node.value} is not assigned once, before it")
            found = self.tile(made[1], places[0])
            if found is None:
                return None
            return Tile(found.ring, found.slot, found.depth, (*found.chain, places[0]))
        if isinstance(node, cst.IfExp):
            # Two views of one tile, of which the kernel's compile-time arguments choose.
            found, other = (self.tile(one, before) for one in (node.body, node.orelse))
            if found is not None and found == other:
                return found
        if not isinstance(node, cst.Call):
            raise Refusal(f"its operand `{one_line(node)}` is computed by each iteration")
        return self._viewed(node, before)

    def _viewed(self, node: cst.Call, before: int) -> Tile | None:
        function = node.func
        if self.reader.is_gl(node, *VIEWS) and node.args:
            return self.tile(node.args[0].value, before)
        if isinstance(function, cst.Attribute) and function.attr.value in VIEWS:
            return self.tile(function.value, before)
        if isinstance(function, cst.Attribute) and function.attr.value == "index" and len(node.args) == 1:
            depth = self.depth(function.value.value) if isinstance(function.value, cst.Name) else None
            if depth is not None:
                return Tile(code(function.value), code(node.args[0].value), depth)
        name = self.reader.emitted(node)
        if name in STAGED:
            return self._stored(node, before)
        if name in COPIED or self._is_view(node):
            return self.tile(node.args[0].value, before)
        if self.reader.is_gl(node, "load"):
            raise Refusal(f"its operand `{one_line(node)}` is loaded into registers, not copied into a ring")
        raise Refusal(f"its operand `{one_line(node)}` is not a tile of a ring")

    def _stored(self, node: cst.Call, before: int) -> Tile | None:
        """`dot_operand(x, ...)` is x itself where x is in shared memory; else a buffer that each iteration writes."""
        tile = self.tile(node.args[0].value, before)
        made = (simple_assignment(self.body[place]) for place in (tile.chain if tile is not None else ()))
        values = [node.args[0].value, *(one[1] for one in made if one is not None)]
        if any(is_copied(value, self.reader) for value in values):
            raise Refusal(f"its operand `{one_line(node)}` may be written to shared memory by each iteration")
        return tile

    def _is_view(self, node: cst.Call) -> bool:
        """Whether a call is of a function of the file that only turns its first argument around."""
        kernel = self.reader.module.bindings.kernels.get(code(node.func)) if isinstance(node.func, cst.Name) else None
        if kernel is None or not node.args or not isinstance(kernel.node.body, cst.IndentedBlock):
            return False
        plain = all(
            isinstance(one, (cst.If, cst.Else, cst.SimpleStatementLine))
            for one in walk(kernel.node.body)
            if isinstance(one, (cst.BaseStatement, cst.Else))
        )
        small = [one for one in walk(kernel.node.body) if isinstance(one, cst.BaseSmallStatement)]
        values = [one.value for one in small if isinstance(one, cst.Return)]
        others = [one for one in small if not isinstance(one, cst.Return) and not _is_text(one)]
        arms = [arm for one in values for arm in ([one.body, one.orelse] if isinstance(one, cst.IfExp) else [one])]
        first = kernel.parameters[0].name if kernel.parameters else None
        return plain and bool(arms) and not others and all(_turned(arm) == first for arm in arms)

    def depth(self, ring: str) -> str | None:
        """The number of tiles (or barriers) that a variable of this name has been allocated with; None for others."""
        made = [
            value
            for statement in walk(self.function.body)
            if isinstance(statement, cst.SimpleStatementLine)
            for name, value in [simple_assignment(statement) or ("", cst.Name("x"))]
            if name == ring
        ]
        if len(made) != 1 or self.assignments(ring) or not self.reader.is_gl(made[0], "allocate_shared_memory"):
            return None
        call = made[0]
        assert isinstance(call, cst.Call)
        shape = call.args[1].value if len(call.args) > 1 else None
        if isinstance(shape, cst.BinaryOperation) and isinstance(shape.operator, cst.Add):
            # `[NUM_BUFFERS] + desc.block_shape`
            shape = shape.left
        if isinstance(shape, (cst.List, cst.Tuple)) and shape.elements:
            return code(shape.elements[0].value)
        return None

    # -- rings

    def ring(self, tile: Tile) -> Ring:
        """How the loop uses the ring of a tile.

        Raises:
            Refusal: it does something else with it than to wait, to read and to fill again.
        """
        touched = [place for place, statement in enumerate(self.body) if tile.ring in indexed(statement)]
        calls = {place: call for place in touched if (call := bare_call(self.body[place])) is not None}
        ready = {name for call in calls.values() for name in indexed(call)} - {tile.ring}
        if len(ready) > 1:
            raise Refusal(f"several barriers belong to {tile.ring}: {', '.join(sorted(ready))}")
        barrier = next(iter(ready), None)
        waits: list[int] = []
        refills: list[int] = []
        for place, statement in enumerate(self.body):
            names = indexed(statement) & {tile.ring, *ready}
            if not names:
                continue
            call = bare_call(statement)
            if call is None and names == {tile.ring} and simple_assignment(statement) is not None:
                continue
            if call is None:
                raise Refusal(f"`{one_line(statement)}` uses {', '.join(sorted(names))}")
            (waits if self.reader.is_hopper(call, "mbarrier.wait") else refills).append(place)
        return Ring(tile.ring, tile.slot, tile.depth, barrier, tuple(waits), tuple(refills))


def _is_text(small: cst.BaseSmallStatement) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))


def _turned(node: cst.CSTNode | None) -> str | None:
    """The variable that an expression permutes or reshapes, or is."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in VIEWS:
        node = node.func.value
    return node.value if isinstance(node, cst.Name) else None


def indexed(node: cst.CSTNode) -> set[str]:
    """The variables of which a node takes a part: `ring` of `ring.index(slot)`."""
    return {
        one.func.value.value
        for one in walk(node)
        if isinstance(one, cst.Call)
        and isinstance(one.func, cst.Attribute)
        and one.func.attr.value == "index"
        and isinstance(one.func.value, cst.Name)
    }


__all__ = ["LoopText", "Refusal", "Ring", "Tile", "indexed"]
