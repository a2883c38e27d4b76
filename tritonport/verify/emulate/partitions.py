"""``warp_specialize``: its functions as partitions that run beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language._semantic import GluonCallerContext

from tritonport.verify.emulate.agents import Partition


def warp_specialize(
    builder: Any, functions_and_args: Any, worker_num_warps: Sequence[int], worker_num_regs: Any, generator: Any
) -> Any:
    """Run the first function as the default partition and the others as workers; the result of the first.

    The checks are those of ``GluonSemantic.warp_specialize``.
    """
    pairs = [tuple(pair) for pair in functions_and_args]
    for _, arguments in pairs:
        if not isinstance(arguments, tuple | tl.tuple):
            raise ValueError(f"function arguments must be a tuple of arguments, but got {type(arguments)}")
    assert len(pairs) >= 1, "expected at least one function for the default partition"
    count = len(pairs) - 1
    assert count == len(worker_num_warps), (
        f"warp specialize got {count} partitions but {len(worker_num_warps)} warp counts"
    )
    if worker_num_regs is not None:
        assert count == len(worker_num_regs), (
            f"warp specialize got {count} partitions but {len(worker_num_regs)} register counts"
        )
    builder.specialized = True
    default = builder.partition
    workers = []
    for (function, arguments), num_warps in zip(pairs[1:], worker_num_warps, strict=True):
        function = tl.core._unwrap_if_constexpr(function)
        partition = Partition(builder.next_partition(), function.__name__, int(num_warps))
        partition.frames = list(default.frames)
        workers.append((partition, _work(generator, function, arguments, int(num_warps))))
        builder.partitions.append(partition)
    function, arguments = pairs[0]
    result = builder.scheduler.specialize(
        lambda: generator.call_JitFunction(tl.core._unwrap_if_constexpr(function), arguments, {}), workers
    )
    del builder.partitions[1:]
    return result


def _work(generator: Any, function: Any, arguments: Any, num_warps: int) -> Callable[[], Any]:
    return lambda: generator.run_worker(function, arguments, GluonCallerContext(num_warps=num_warps))
