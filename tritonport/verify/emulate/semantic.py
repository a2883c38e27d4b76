"""The front end's own semantics, but bodies of reductions, scans and partitions run instead of being emitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.experimental.gluon.language._semantic import GluonSemantic
from triton.language.semantic import TritonSemantic

from tritonport.verify.emulate.partitions import warp_specialize
from tritonport.verify.emulate.regions import Emit, ReduceOp, ScanOp


def _running(emit: Emit, builder: Any) -> Emit:
    def run(operation: Any) -> None:
        assert isinstance(operation, ReduceOp | ScanOp)
        operation.compute(builder, emit)

    return run


class EmulatedTriton(TritonSemantic):  # type: ignore[misc]  # Triton has no types
    """The semantics of ``@triton.jit``."""

    def reduction(self, inputs: Sequence[Any], axis: int, region_builder_fn: Emit) -> Any:
        return super().reduction(inputs, axis, _running(region_builder_fn, self.builder))

    def associative_scan(self, inputs: Sequence[Any], axis: int, region_builder_fn: Emit, reverse: bool) -> Any:
        return super().associative_scan(inputs, axis, _running(region_builder_fn, self.builder), reverse)


class EmulatedGluon(GluonSemantic):  # type: ignore[misc]  # Triton has no types
    """The semantics of ``@gluon.jit``."""

    def reduction(self, inputs: Sequence[Any], axis: int, region_builder_fn: Emit) -> Any:
        return super().reduction(inputs, axis, _running(region_builder_fn, self.builder))

    def associative_scan(self, inputs: Sequence[Any], axis: int, region_builder_fn: Emit, reverse: bool) -> Any:
        return super().associative_scan(inputs, axis, _running(region_builder_fn, self.builder), reverse)

    def warp_specialize(
        self, functions_and_args: Any, worker_num_warps: Sequence[int], worker_num_regs: Any, generator: Any
    ) -> Any:
        return warp_specialize(self.builder, functions_and_args, worker_num_warps, worker_num_regs, generator)
