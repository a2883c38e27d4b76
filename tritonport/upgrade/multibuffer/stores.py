"""What a pipelined loop stores through descriptors: its tiles take shared memory beside the rings.

A store waits until its tile has been read. Of a loop that stores several tiles in an iteration, the states and values
of a recurrence, each iteration would wait several times, one after the other. There the tiles stand before the loop,
and the next iteration waits for all of them once, when they have long been read; so does Triton's pipeliner. For one
tile that gains nothing (linear attention on an H200: 1.087x of Triton with it, 1.086x without).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.convert.names import Names
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.parse import printed
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, replaced, walk
from tritonport.upgrade.decided import decides
from tritonport.upgrade.edit import code, parsed, spliced
from tritonport.upgrade.guards import Guard, arm_of, facts_of, put_together
from tritonport.upgrade.multibuffer.pipelined import pipelined
from tritonport.upgrade.slices import names_of

STARTED = "start_store"
LEAST = 2
"""How many tiles an iteration stores where their copies stay under way."""
_STORE = re.compile(r"store_tile(_\d+)?")


@dataclass(frozen=True, eq=False)
class Stored:
    """A store of a loop, `store_tile(desc, coord, order, value)`.

    Attributes:
        guard: the branches around it that are decided when the kernel is compiled.
        place: the index of the statement of the loop's body that it stands in.
    """

    call: cst.Call
    guard: Guard
    place: int


def stored_descriptors(loops: Sequence[cst.For | cst.While], module: SourceModule) -> list[str]:
    """The descriptors, as source text, through which these loops store with `store_tile(desc, coord, order, value)`."""
    calls = [node for loop in loops for node in walk(loop) if _is_store(node, module)]
    return list(dict.fromkeys(code(call.args[0].value) for call in calls if isinstance(call, cst.Call)))


def _is_store(node: cst.CSTNode, module: SourceModule) -> bool:
    if not isinstance(node, cst.Call) or len(node.args) != 4:
        return False
    path = dotted(node.func) or ""
    return _STORE.fullmatch(path) is not None and path in module.bindings.functions


def with_stores_under_way(module: SourceModule, names: set[str], started: str, gl: str, tma: str) -> SourceModule:
    """The file with the stores of such loops of these functions under way until the next iteration; the file itself
    without any.

    Args:
        started, gl, tma: what the file calls `start_store`, Gluon's language and its operations of the copy engine.
    """
    changed: dict[cst.CSTNode, cst.CSTNode] = {}
    for kernel in module.kernels:
        if kernel.qualified in names:
            taken = Names({*names_of(kernel.node), *assigned_names(kernel.node), *module.bindings.functions})
            writer = _Writer(module, kernel, taken, started, gl, tma)
            lines = ((node, writer.write(node)) for node in pipelined(module, kernel))
            swaps: dict[cst.CSTNode, Sequence[cst.BaseStatement]] = {node: anew for node, anew in lines if anew}
            if swaps:
                changed[kernel.node] = kernel.node.with_changes(body=spliced(kernel.node.body, swaps))
    if not changed:
        return module
    tree: cst.Module = replaced(module.tree, changed)
    return SourceModule(printed(tree), module.path, module.project)


class _Writer:
    def __init__(self, module: SourceModule, kernel: Kernel, names: Names, started: str, gl: str, tma: str) -> None:
        self.module = module
        self.kernel = kernel
        self.names = names
        self.started, self.gl, self.tma = started, gl, tma

    def write(self, loop: cst.For) -> list[cst.BaseStatement]:
        """The statements in the place of a loop; none where it stays as it is."""
        stores = self._stores(loop)
        if stores is None or not _several(stores):
            return []
        assert isinstance(loop.body, cst.IndentedBlock)
        tiles = {one.call: self.names.fresh(_tile_name(one.call)) for one in stores}
        made = [(self._allocated(code(one.call.args[0].value), tiles[one.call]), one.guard) for one in stores]
        calls: dict[cst.CSTNode, cst.CSTNode] = {
            call: call.with_changes(func=cst.parse_expression(self.started), args=[cst.Arg(cst.Name(tile)), *call.args])
            for call, tile in tiles.items()
        }
        body = [replaced(line, calls) for line in loop.body.body]
        first = min(one.place for one in stores)
        wait = self._statement(f"{self.tma}.store_wait(0)")
        said = cst.EmptyLine(comment=cst.Comment("# The tiles of the iteration before have been read."))
        body[first:first] = [wait.with_changes(leading_lines=[said])]
        before = put_together(made, bare=True)
        before[0] = before[0].with_changes(leading_lines=loop.leading_lines)
        node = loop.with_changes(leading_lines=[], body=loop.body.with_changes(body=body))
        return [*before, node, wait]

    def _stores(self, loop: cst.For) -> list[Stored] | None:
        """The stores of a loop that iterations come to once each, if at all; None where there are others."""
        assert isinstance(loop.body, cst.IndentedBlock)
        lines = enumerate(loop.body.body)
        found = [Stored(call, guard, place) for place, line in lines for call, guard in self._calls(line, ())]
        every = [node for node in walk(loop.body) if _is_store(node, self.module)]
        parameters = {one.name for one in self.kernel.parameters} - set(assigned_names(self.kernel.node.body))
        fixed = all(code(one.call.args[0].value) in parameters for one in found)
        return found if len(found) == len(every) and fixed else None

    def _calls(self, line: cst.CSTNode, guard: Guard) -> Iterator[tuple[cst.Call, Guard]]:
        """The stores that are statements, in this one or under its `if`s."""
        if isinstance(line, cst.SimpleStatementLine):
            values = [small.value for small in line.body if isinstance(small, cst.Expr)]
            yield from ((one, guard) for one in values if isinstance(one, cst.Call) and _is_store(one, self.module))
        elif isinstance(line, cst.If):
            known = decides(self.kernel)(line.test)
            orelse = line.orelse
            behind = [orelse] if isinstance(orelse, cst.If) else orelse.body.body if orelse is not None else ()
            for number, branch in enumerate((line.body.body, behind)):
                inner = (*guard, arm_of(line, number)) if known else guard
                for statement in branch:
                    yield from self._calls(statement, inner)

    def _allocated(self, descriptor: str, tile: str) -> cst.BaseStatement:
        shape = f"{descriptor}.dtype, {descriptor}.block_shape, {descriptor}.layout"
        return self._statement(f"{tile} = {self.gl}.allocate_shared_memory({shape})")

    def _statement(self, text: str) -> cst.SimpleStatementLine | cst.BaseCompoundStatement:
        return parsed(text, self.module.tree)


def _tile_name(call: cst.Call) -> str:
    return f"{re.sub(r'_desc(_[0-9]+)?$', '', code(call.args[0].value))}_stored"


def _several(stores: Sequence[Stored]) -> bool:
    """Whether some launch has several of the stores."""
    facts = [facts_of(one.guard) for one in stores]
    together = [sum(not any((test, not holds) in other for test, holds in one) for other in facts) for one in facts]
    return max(together, default=0) >= LEAST


__all__ = ["STARTED", "stored_descriptors", "with_stores_under_way"]
