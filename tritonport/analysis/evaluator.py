"""The state of a walk over a kernel, and the tensor values that operations are made of."""

from __future__ import annotations

from abc import abstractmethod

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.descriptors import Descriptors
from tritonport.analysis.dims import Dim
from tritonport.analysis.element_types import joined_element
from tritonport.analysis.globals import Globals
from tritonport.analysis.place import Places
from tritonport.analysis.shapes import broadcast, combine_strides, joined_multiples, padding
from tritonport.analysis.values import Kind, Operand, Refusal, Value, scalar
from tritonport.source.module import SourceModule


class Evaluator(Globals):
    """What operations see of the interpreter.

    Attributes:
        depth: how many loops surround what is being read.
        places: which block and which branches surround it.
        integers: arguments that are numbers and no pointers.
        descriptors: what is known of tensor descriptors.
    """

    def __init__(self, module: SourceModule) -> None:
        super().__init__(module)
        self.depth = 0
        self.places = Places()
        self.integers: set[str] = set()
        self.descriptors = Descriptors()

    @abstractmethod
    def evaluate(self, node: cst.BaseExpression) -> Value:
        """The value of an expression, which is remembered."""

    def not_a_pointer(self, value: Value) -> None:
        """Arguments that are multiplied or compared are numbers, so an address that adds them starts elsewhere."""
        if value.kind is Kind.SCALAR and len(value.pointers) == 1:
            self.integers.add(value.pointers[0])

    # -- tensors

    def elementwise(
        self,
        op: str,
        node: cst.CSTNode,
        operands: list[tuple[cst.BaseExpression, Value]],
        cheap: bool = False,
        shape: tuple[Dim, ...] | None = None,
    ) -> Value:
        """A tensor operation whose operands meet in one shape and one layout."""
        tensors = [value for _, value in operands if value.is_tensor]
        joined = broadcast([value.shape for value in tensors] + ([shape] if shape is not None else []))
        for value in tensors:
            self.descriptors.meet(value.shape, joined)
        rank = len(joined)
        index: tuple[strides.Stride, ...]
        if len(operands) == 2 and op in ("add", "sub", "mul", "mod", "or", "floordiv", "div"):
            index = combine_strides(op, operands[0][1], operands[1][1], rank)
        elif len(operands) == 1 and op in ("cast", "hint", "neg"):
            index = tensors[0].strides
        else:
            index = (strides.UNKNOWN,) * rank
        pointers: tuple[str, ...] = ()
        if op == "add":
            pointers = tuple(dict.fromkeys(pointer for _, value in operands for pointer in value.pointers))
        elif op in ("sub", "hint", "where"):
            pointers = tuple(dict.fromkeys(p for _, value in operands[:3] for p in value.pointers))
        return Value(
            Kind.TENSOR,
            shape=joined,
            strides=index,
            pointers=pointers,
            op=op,
            operands=[
                Operand(expression, value, padding(value.rank, rank) if value.is_tensor else ())
                for expression, value in operands
            ],
            cheap=cheap,
            depth=self.depth,
            node=node,
            element=joined_element(op, [value for _, value in operands]),
            multiples=joined_multiples(op, [value for _, value in operands]),
        )

    def map(
        self, node: cst.CSTNode, op: str, operands: list[tuple[cst.BaseExpression, Value]], cheap: bool = False
    ) -> Value:
        """An elementwise operation: a tensor where any operand is one."""
        kept = [
            (expression, value)
            for expression, value in operands
            if value.kind in (Kind.TENSOR, Kind.SCALAR, Kind.CONSTEXPR)
        ]
        if any(value.is_tensor for _, value in kept):
            return self.elementwise(op, node, kept, cheap=cheap)
        return scalar()

    def expand(self, node: cst.CSTNode, base: tuple[cst.BaseExpression, Value], pattern: list[bool]) -> Value:
        """`x[:, None]`: True marks a new axis."""
        value = base[1]
        kept = pattern.count(False)
        if kept > value.rank:
            raise Refusal("TP105", f"the subscript {self.code(node)}", node)
        pattern = pattern + [False] * (value.rank - kept)
        shape: list[Dim] = []
        index: list[strides.Stride] = []
        axes: list[int] = []
        old = 0
        own = value.strides or (strides.UNKNOWN,) * value.rank
        for position, new in enumerate(pattern):
            if new:
                shape.append(dims.ONE)
                index.append(strides.ZERO)
                axes.append(position)
            else:
                shape.append(value.shape[old])
                index.append(own[old])
                old += 1
        return Value(
            Kind.TENSOR,
            shape=tuple(shape),
            strides=tuple(index),
            pointers=value.pointers,
            op="expand",
            multiples=value.multiples,
            element=value.element,
            operands=[Operand(base[0], value, tuple(axes))],
            cheap=True,
            depth=self.depth,
            node=node,
        )

    def spread(self, node: cst.Subscript, base: Value, rank: int) -> Value:
        """`x[None, None]` of a scalar: a tensor of one element, as `tl.expand_dims` makes it."""
        return Value(
            Kind.TENSOR,
            shape=(dims.ONE,) * rank,
            strides=(strides.ZERO,) * rank,
            pointers=base.pointers,
            op="splat",
            multiples=base.multiples,
            operands=[Operand(node.value, base)],
            cheap=True,
            depth=self.depth,
            node=node,
        )
