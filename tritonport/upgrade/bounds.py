"""The bounds of a loop whose tiles are copied ahead: each computed once, and compared with by the copies too."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.access import Loop
from tritonport.convert.names import Names
from tritonport.report import note_code
from tritonport.source.walk import assigned_names, replaced
from tritonport.upgrade.slices import ARITHMETIC

HINT = "TP106"


class Bounds:
    """Start, stop and step of a loop as source text.

    Attributes:
        lines: the statements before the loop that compute what a bound is.
        start, step: None where the loop leaves them out.

    The bounds of an unrolled loop are constants, which a variable would not be: they are said again where needed.
    """

    def __init__(self, loop: Loop, body: Sequence[cst.BaseStatement], names: Names, module: cst.Module) -> None:
        assert loop.stop is not None
        self.loop = loop
        self.module = module
        self.names = names
        self.lines: list[str] = []
        self._assigned = {name for line in body for name in assigned_names(cst.IndentedBlock([line]))}
        self.stop = self._bound(loop.stop, "stop")
        self.start = self._bound(loop.start, "start") if loop.start is not None else None
        self.step = self._code(loop.step) if loop.step is not None else None

    def index_of(self, iteration: str) -> str:
        """The loop's index in the iteration of a number."""
        if iteration == "0":
            return self.start or "0"
        if self.start in (None, "0"):
            return self._moved(iteration)
        return self.after(str(self.start), iteration)

    def after(self, index: str, iterations: str) -> str:
        """The index a number of iterations behind another one."""
        if self.step is not None and re.fullmatch(r"-\w+", self.step):
            size = self.step[1:]
            return f"{index} - {iterations if size == '1' else size if iterations == '1' else f'{iterations} * {size}'}"
        return f"{index} + {self._moved(iterations)}"

    def _moved(self, iterations: str) -> str:
        if self.step is None:
            return iterations
        return factor(self.step) if iterations == "1" else f"{iterations} * {factor(self.step)}"

    def iterator(self) -> cst.BaseExpression:
        """The range with these bounds; its hints are gone, since Gluon acts on none. An unrolled one stays as it is."""
        call = self.loop.node.iter  # type: ignore[union-attr]
        if self.loop.kind == "static_range":
            return call
        assert isinstance(call, cst.Call) and self.loop.stop is not None
        swaps: dict[cst.CSTNode, cst.CSTNode] = {self.loop.stop: cst.parse_expression(self.stop)}
        if self.loop.start is not None and self.start is not None:
            swaps[self.loop.start] = cst.parse_expression(self.start)
        found: cst.Call = replaced(call, swaps)
        positional = [argument for argument in found.args if argument.keyword is None]
        steps = [
            argument for argument in found.args if argument.keyword is not None and argument.keyword.value == "step"
        ]
        plain = [
            *positional,
            *(argument.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT) for argument in steps),
        ]
        if plain:
            plain[-1] = plain[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return found.with_changes(func=cst.Name("range"), args=plain)

    def _bound(self, node: cst.BaseExpression, wanted: str) -> str:
        number = node.expression if isinstance(node, cst.UnaryOperation) else node
        if isinstance(number, cst.Integer) or (isinstance(node, cst.Name) and node.value not in self._assigned):
            return self._code(node)
        if self.loop.kind == "static_range":
            sums = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, ARITHMETIC)
            return self._code(node) if sums or isinstance(node, cst.Call) else f"({self._code(node)})"
        name = self.names.fresh(wanted)
        self.lines.append(f"{name} = {self._code(node)}")
        return name

    def _code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node).strip()


def factor(text: str) -> str:
    """An expression as a factor of a product."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def is_acted_on(code: str, message: str) -> bool:
    """Whether a finding is that nothing acts on the `num_stages` of a loop, which is the depth of its ring now."""
    return code == HINT and message.startswith("num_stages=") and " is a hint " in message


def said_of_depth(comment: str) -> bool:
    """Whether a comment in a port says that nothing acts on the `num_stages` of a loop."""
    code = note_code(comment)
    return code is not None and is_acted_on(code, comment.partition(code)[2].strip())


__all__ = ["Bounds", "factor", "is_acted_on", "said_of_depth"]
