"""Edges between operations: what the one makes and the other takes."""

from __future__ import annotations

from dataclasses import dataclass

from tritonport.analysis.values import Operand, Value


@dataclass(frozen=True, eq=False)
class Edge:
    """An operand of an operation: what makes it, what takes it, and its place in the order of the program."""

    producer: Value
    consumer: Value
    operand: Operand
    position: int

    @property
    def cost(self) -> tuple[int, int, int, bool, int]:
        depth = min(self.producer.depth, self.consumer.depth)
        extent = sum(not size.is_one for size in self.producer.shape)
        return (-depth, -extent, -self.producer.rank, self.reduced, self.position)

    @property
    def reduced(self) -> bool:
        """Whether the sum over a tile, say, meets a vector in a loop that has a layout without it: it is converted
        where it comes from, as Triton's compiler does, and not all that the vector is reckoned with."""
        if self.producer.op != "reduce" or min(self.producer.depth, self.consumer.depth) == 0:
            return False
        others = [operand.value for operand in self.consumer.operands if operand.value is not self.producer]
        return any(value.is_tensor and value.focus is not None for value in others)
