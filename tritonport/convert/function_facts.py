"""What the analysis says of the nodes of one function, over all the calls that its text has to serve."""

from __future__ import annotations

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.values import Kind, Value
from tritonport.convert.helper_versions import Inconsistent
from tritonport.source.questions import is_promotion

WIDE = (("gl.float32",), ("gl.float64",), ("gl.int64",))
"""Element types that a tile is converted before it is cast to, and not after."""


class FunctionFacts:
    """Values and operations by node; `frames` has the function once per call."""

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames

    def values(self, node: cst.CSTNode) -> list[Value | None]:
        """Per frame, None where it does not reach the node."""
        return [frame.values.get(node) for frame in self.frames]

    def first(self, node: cst.CSTNode) -> Value | None:
        """The value of a node where any frame reaches it; frames have to agree on its kind and rank."""
        found = [value for value in self.values(node) if value is not None]
        if not found:
            return None
        if len({(value.is_tensor, value.rank, value.focus is None) for value in found}) > 1:
            raise Inconsistent
        return found[0]

    def is_global(self, node: cst.BaseExpression) -> bool:
        """Whether a name, or the head of a dotted one, is no variable of the function."""
        while isinstance(node, cst.Attribute):
            node = node.value
        return isinstance(node, cst.Name) and not any(frame.reads.get(node) is not None for frame in self.frames)

    def operations(self, node: cst.Call) -> set[str]:
        """The operations a call means in the frames that reach it."""
        return {frame.operations[node] for frame in self.frames if node in frame.operations}

    def operation_name(self, node: cst.Call) -> str:
        """The operation a call means, under its short name: "sum" for `x.sum()`."""
        return next(frame.operations[node] for frame in self.frames if node in frame.operations)

    def is_widened(self, node: cst.BaseExpression) -> bool:
        """Whether a tile is read in a type that may be narrower and is cast to a wide one, scaled or not."""
        values = [value for value in self.values(node) if value is not None]
        if len(values) < len(self.frames) or not all(value.is_tensor and value.focus is not None for value in values):
            return False
        if any(sum(operand.value.is_tensor for operand in value.operands) != 1 for value in values):
            return False
        if isinstance(node, cst.Call):
            return self.operations(node) == {"cast"} and all(value.element in WIDE for value in values)
        parts = {cst.BinaryOperation: ("left", "right"), cst.UnaryOperation: ("expression",)}.get(type(node), ())
        tiles = [getattr(node, part) for part in parts]
        return any(self.first(tile) is not None and self.is_widened(tile) for tile in tiles)

    def promoted(self, node: cst.Attribute) -> cst.BaseExpression | None:
        """`x` of `promote(x).dtype`, where `promote` only makes a number a tensor: a value at run time has a dtype."""
        if node.attr.value != "dtype" or not isinstance(node.value, cst.Call) or len(node.value.args) != 1:
            return None
        callee = next((frame.calls[node.value] for frame in self.frames if node.value in frame.calls), None)
        if callee is None or not is_promotion(callee.kernel):
            return None
        given = [value for value in self.values(node.value.args[0].value) if value is not None]
        return node.value.args[0].value if all(value.kind in (Kind.TENSOR, Kind.SCALAR) for value in given) else None
