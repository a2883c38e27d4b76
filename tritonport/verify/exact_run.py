"""The reference of a launch that has none: the original, run again in the emulator without rounding.

A recorded launch, or a case of the user's, often says what to run and not what should come out. What the original
would compute without rounding is known all the same: the emulator runs it once more, on the same inputs, with a number
in float64 beside each floating-point value (`tritonport.verify.emulate.exact_ops`). No GPU is needed, and none is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from tritonport.verify.compare import bitwise_equal
from tritonport.verify.places import first_line
from tritonport.verify.side import Side, SideFailed, SideRun, Variation, emulator


@dataclass(frozen=True)
class ExactRun:
    """What the original would compute without rounding.

    Attributes:
        results: tensors on the CPU in float64, by the name that a comparison has: a result, `input x` for an input that
            was changed. Left out is what neither a kernel stored nor torch computed from that.
        rounded: operations that went on from rounded numbers, for lack of a model.
        why_none: why there is nothing; empty where there is something.
    """

    results: Mapping[str, Any] = field(default_factory=dict)
    rounded: frozenset[str] = frozenset()
    why_none: str = ""

    @property
    def note(self) -> str:
        """For the reader of a report: where the reference came from, or why there is none."""
        if self.why_none:
            return f"no exact run of the original: {self.why_none}"
        text = "the case has no reference: the original was run once more in the emulator, without rounding"
        return text + (f" (rounded all the same: {', '.join(sorted(self.rounded))})" if self.rounded else "")


def run_exactly(original: Side, variation: Variation, run: SideRun, target: str, time_limit: float) -> ExactRun:
    """Runs the original without rounding.

    Args:
        original: the side, on whatever device; its case makes the inputs once more, on the CPU.
        run: what it computed there on these inputs.
        target: the GPU that the emulator plays, such as `sm_90`.
        time_limit: seconds for one launch.
    """
    from tritonport.verify.emulate.exact_memory import ExactMemory
    from tritonport.verify.emulate.exact_torch import ExactTorch

    exact = ExactMemory()
    try:
        with emulator(target, time_limit, exact) as backend, ExactTorch(exact):
            found = original.on(backend).run(variation, copy=lambda leaf: _exact(exact, leaf))
    except SideFailed as failed:
        return ExactRun(why_none=getattr(failed.error, "message", None) or first_line(failed.error))
    if not _same_inputs(run.inputs, found.inputs):
        return ExactRun(why_none="make_inputs gives other inputs on the CPU")
    named = {**found.results, **{f"input {name}": leaf for name, leaf in found.mutated.items()}}
    results = {name: leaf for name, leaf in named.items() if leaf is not None}
    if not results:
        return ExactRun(why_none="no kernel had a part in any result")
    return ExactRun(results, frozenset(exact.rounded))


def _exact(memory: Any, leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.layout != torch.strided or leaf.is_complex():
        return None
    return memory.of_tensor(leaf)


def _same_inputs(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    return wanted.keys() == found.keys() and all(bitwise_equal(wanted[name].cpu(), found[name]) for name in wanted)
