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
    def cost(self) -> tuple[int, int, int, int]:
        depth = min(self.producer.depth, self.consumer.depth)
        extent = sum(not size.is_one for size in self.producer.shape)
        return (-depth, -extent, -self.producer.rank, self.position)
