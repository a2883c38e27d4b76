"""That what a kernel turns has the dimensions that it is turned by, on all paths."""

from __future__ import annotations

from collections.abc import Iterable

from tritonport.analysis.terms import Permuted, Reshaped, rank
from tritonport.analysis.values import Refusal
from tritonport.layouts.edges import Edge


def check_ranks(edges: Iterable[Edge]) -> None:
    """Raises Refusal where an operand is a tensor of other dimensions than an operation takes it for: a variable that
    is a number before a loop, or a vector, and a tile in it."""
    for edge in edges:
        focus = edge.consumer.focus
        if focus is None or edge.operand.separate is not None:
            continue
        left = rank(focus) - len(edge.operand.path)
        for step in edge.operand.steps:
            if isinstance(step, Permuted) and len(step.order) != left:
                message = f"a tensor of {len(step.order)} dimensions has {max(left, 0)} on another path"
                raise Refusal("TP203", message, edge.consumer.node)
            if isinstance(step, Reshaped):
                left = len(step.shape)
            elif not isinstance(step, Permuted):
                left += 1
        if edge.producer.focus is not None and left != rank(edge.producer.term):
            message = f"a tensor of {max(left, 0)} dimensions has {rank(edge.producer.term)} on another path"
            raise Refusal("TP203", message, edge.consumer.node)


__all__ = ["check_ranks"]
