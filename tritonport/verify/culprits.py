"""What is wrong in runs of a port that went to their end, at the kernel that computed it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tritonport.report.diagnostic import Diagnostic
from tritonport.verify.case import read_source
from tritonport.verify.compare import equal_mask
from tritonport.verify.compile.kernels import find_kernels
from tritonport.verify.judge import RunResult
from tritonport.verify.launches import Launch
from tritonport.verify.side import Side, SideFailed

_MAX_FINDINGS = 5


def findings_of(
    results: Sequence[RunResult], original: Side, port: Side, launched: Iterable[Launch], kernel_file: str
) -> tuple[Diagnostic, ...]:
    """The problems of the first bad run; the others are counted.

    Args:
        results: the runs with the verdict of the tier.
        launched: of the port, one launch of each kernel; the first stands for them all where none can be blamed.
        kernel_file: the original.
    """
    bad = [result for result in results if result.problems]
    if not bad:
        return ()
    first = bad[0]
    launch, suffix = _culprit(first, original, port) if first.differences else (None, "")
    launch = launch or next(iter(launched), None)
    kernel = None if launch is None else launch.kernel
    line = 1 if kernel is None else _line_of(kernel, kernel_file)
    if len(bad) > 1:
        suffix += f"; also with {', '.join(str(result.variation) for result in bad[1:])}"
    return tuple(
        Diagnostic(
            code, f"{text} ({first.variation}){suffix if not index else ''}", kernel_file, line, 1, kernel, first.hint
        )
        for index, (code, text) in enumerate(first.problems[:_MAX_FINDINGS])
    )


def _line_of(kernel: str, kernel_file: str) -> int:
    """The line that defines a kernel; the first one of the file where it is defined elsewhere."""
    found = find_kernels(read_source(Path(kernel_file)))
    return next((one.node.lineno for one in found if one.name == kernel), 1)


def _culprit(result: RunResult, original: Side, port: Side) -> tuple[Launch | None, str]:
    """The first launch after which an argument differs, found by running both sides once more."""
    try:
        runs = [side.run(result.variation, trace=True) for side in (original, port)]
    except SideFailed:
        return None, ""
    for number, (ours, theirs) in enumerate(zip(runs[0].launches, runs[1].launches, strict=False), 1):
        if ours.kernel != theirs.kernel:
            return ours, f"; launch {number} is {theirs.kernel} in the port, {ours.kernel} in the original"
        for name, tensor in ours.written.items():
            other = theirs.written.get(name)
            if other is not None and other.shape == tensor.shape and not bool(equal_mask(tensor, other).all()):
                return ours, f"; first in {name} after launch {number}, {ours.kernel}"
    return None, ""
