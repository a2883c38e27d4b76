"""Builder methods for Hopper's warpgroup MMA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tritonport.verify.emulate.agents import Partition
from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.ordering import Clock, Event
from tritonport.verify.emulate.shapes import accumulate, matrix_product
from tritonport.verify.emulate.shared import Memory, Place, check_written
from tritonport.verify.emulate.values import Array, Value

QUEUE = "warpgroup_mma"


class InFlight(Value):
    """A tensor an asynchronous operation is still computing: no one may use its elements."""

    __slots__ = ("clock", "event", "place", "result")

    def __init__(self, result: Value, event: Event, place: Place, clock: Clock) -> None:
        self.result = result
        self.event = event
        self.place = place
        self.clock = clock
        self.dtype = result.dtype
        self.layout = result.layout

    def get_type(self) -> Any:
        return self.result.get_type()

    @property
    def data(self) -> Array:  # type: ignore[override]
        if not self.clock.knows(self.event):
            raise Fault(
                f"the accumulator is used while the warpgroup_mma of line {self.place.line} computes it: "
                "it needs a warpgroup_mma_wait that leaves fewer operations outstanding"
            )
        return self.result.data


def settled(value: Value) -> Value:
    """The value an MMA may accumulate into: MMAs on one accumulator follow each other without a wait."""
    return value.result if isinstance(value, InFlight) else value


class TensorCoreOps:
    """Builder methods for ``warpgroup_mma`` and its wait."""

    where: Callable[[], Place]
    partition: Partition
    access: Callable[..., None]
    check_visible: Callable[[Memory, str], None]

    def create_warpgroup_mma(
        self, a: Any, b: Any, acc: Value, use_acc: Value, precision: Any, imprecise: object, is_async: bool
    ) -> Value:
        what = "the warpgroup_mma"
        if not isinstance(b, Memory):
            raise Fault("operand b of warpgroup_mma must be in shared memory")
        operands = [operand for operand in (a, b) if isinstance(operand, Memory)]
        event = self.partition.queue(QUEUE).start()
        finish = "a warpgroup_mma_wait that covers it"
        for operand in operands:
            self.check_visible(operand, what)
            self.access(operand, what, writes=False, event=event, finish=finish)
            check_written(operand, what)
        before = settled(acc)
        check_product(a, b, before)
        product = matrix_product(as_value(a), as_value(b), precision)
        start = before if bool(use_acc.data.reshape(())) else None
        result = accumulate(product, start, before.dtype, before.layout)
        if not is_async:
            self.partition.wait(QUEUE, 0)
            return result
        return InFlight(result, event, self.where(), self.partition.clock)

    def create_warpgroup_mma_wait(self, values: list[Any], outstanding: int) -> list[Any]:
        self.partition.wait(QUEUE, outstanding)
        for value in values:
            if isinstance(value, Memory):
                # Named here, an operand lives until here.
                value.buffer.uses += 1
        clock = self.partition.clock
        return [value.result if isinstance(value, InFlight) and clock.knows(value.event) else value for value in values]


def as_value(operand: Any) -> Value:
    """An operand of a product as a tensor, wherever it is."""
    if isinstance(operand, Memory):
        return Value(np.ascontiguousarray(operand.data), operand.dtype)
    value: Value = operand
    return value


def check_product(a: Any, b: Any, acc: Value) -> None:
    """Raises :class:`Fault` if shapes or types do not fit."""
    rows, inner = a.data.shape[-2:]
    if b.data.shape[-2] != inner or acc.data.shape[-2:] != (rows, b.data.shape[-1]):
        raise Fault(
            f"the shapes do not multiply: {list(a.data.shape)} by {list(b.data.shape)} into {list(acc.data.shape)}"
        )
    if a.dtype != b.dtype and not (a.dtype.is_fp8() and b.dtype.is_fp8()):
        raise Fault(f"the operands have different types: {a.dtype} and {b.dtype}")
