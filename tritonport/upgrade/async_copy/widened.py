"""Operands that get another type on their way to a dot: weights of 8 bits, `tl.dot(x, w.to(x.dtype).T, acc)`.

They go through registers anyway. Where mma.sync does the dot, its registers are where they are cast, as Triton does it:
a tile that is loaded in any other order is written to shared memory a second time, and read from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.walk import walk
from tritonport.upgrade.dots import called, reads_of, result_layout
from tritonport.upgrade.edit import code

_PLAIN = frozenset({"dot", "dot_added"})


@dataclass(frozen=True)
class Widened:
    """A tile that one dot of a loop reads, cast and perhaps transposed.

    Attributes:
        dot: the dot.
        index: which of its operands the tile is.
        operand: that operand as it stands there, and `cast` without what transposes it.
        transposed: whether the dot reads the tile with its two dimensions exchanged.
        result: the layout of the dot's result, as source text.
    """

    dot: cst.Call
    index: int
    operand: cst.BaseExpression
    cast: cst.Call
    transposed: bool
    result: str

    @property
    def beside(self) -> cst.BaseExpression:
        """The other operand."""
        return self.dot.args[1 - self.index].value


def widened_of(name: str, body: Sequence[cst.BaseStatement], function: cst.FunctionDef) -> Widened | None:
    """How a dot of a loop reads the tile of this name; None where anything else reads it, or the dot says more."""
    found: list[Widened] = []
    for statement in body:
        for call in walk(statement):
            if not isinstance(call, cst.Call) or called(call) not in _PLAIN or len(call.args) != 3:
                continue
            result = result_layout(call.args[2].value, function)
            for index, argument in enumerate(call.args[:2]):
                cast, transposed = _cast_of(argument.value)
                if cast is not None and result is not None and _is_method_of(cast, name):
                    found.append(Widened(call, index, argument.value, cast, transposed, result))
    reads = sum(len(reads_of(statement, name)) for statement in body)
    return found[0] if len(found) == reads == 1 else None


def _cast_of(node: cst.BaseExpression) -> tuple[cst.Call | None, bool]:
    """`w.to(dtype)` of an operand, and whether it is transposed behind the cast."""
    if isinstance(node, cst.Attribute) and node.attr.value == "T":
        cast, transposed = _cast_of(node.value)
        return cast, not transposed
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None, False
    if node.func.attr.value == "permute":
        # `gl.permute(x, (1, 0))` or `x.permute((1, 0))`
        of, order = (node.args[0].value if len(node.args) == 2 else node.func.value), code(node.args[-1].value)
        cast, transposed = _cast_of(of) if order in ("(1, 0)", "[1, 0]") else (None, False)
        return cast, not transposed
    plain = len(node.args) == 1 and node.args[0].keyword is None
    return (node if node.func.attr.value == "to" and plain else None), False


def _is_method_of(call: cst.Call, name: str) -> bool:
    return (
        isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name) and call.func.value.value == name
    )


__all__ = ["Widened", "widened_of"]
