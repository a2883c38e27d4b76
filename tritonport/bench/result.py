"""What a benchmark found out."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tritonport.bench.statistics import ORIGINAL, Timings
from tritonport.report.exit_codes import FINDINGS, NOT_RUN, worst_exit_code
from tritonport.verify.verdict import EXIT_CODES, Verdict


class Status(enum.Enum):
    """What became of one stage on one set of inputs."""

    TIMED = "timed"
    NOT_APPLICABLE = "not-applicable"
    """The stage changes nothing in the file, or no kernel of it was launched."""
    WRONG = "wrong"
    """It computes something else than the original, and was not timed."""
    FAILED = "failed"
    """It does not compile, raises, crashes or hangs."""


@dataclass(frozen=True)
class Lane:
    """One version of the file, the original or a stage, on one set of inputs.

    Attributes:
        stage: `original`, `literal`, or the name of a later stage.
        status: what became of it.
        reason: why it was not timed; empty where it was.
        kernels: the launches that were timed, by kernel.
        resources: of each of them what the driver reports: registers, spills, shared, num_warps.
        launch_us: microseconds that the host needs to launch them; None where it was not measured.
        notes: results that are not equal bit for bit, and by how much they differ.
    """

    stage: str
    status: Status
    reason: str = ""
    kernels: tuple[str, ...] = ()
    resources: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    launch_us: float | None = None


@dataclass(frozen=True)
class Work:
    """What one run of the launches does.

    Attributes:
        bytes: that it moves at least.
        counted: whether `bytes` is the size of the launches' tensors, because the case says nothing.
        flops: floating-point operations; None where the case says nothing.
        dtype: the type that they are done in, by torch's name or `tf32`: the vendor's product in it is the ceiling.
    """

    bytes: int = 0
    counted: bool = True
    flops: float | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class Ceilings:
    """Rates of the same run: what the device can do.

    Attributes:
        copy_gb_s: of a copy on the device, GB/s read and written; None where it was not measured.
        matmul_tflop_s: of the vendor's product of two large matrices, by type; None where it has none for the type.
    """

    copy_gb_s: float | None = None
    matmul_tflop_s: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Rate:
    """How fast a lane is: `value` in `unit`, and as a share of the ceiling (None where there is none)."""

    value: float
    unit: str
    share: float | None
    of: str


@dataclass(frozen=True)
class SizeResult:
    """One set of inputs.

    Attributes:
        label: shape and type, for the reader.
        sizes: the values that the user asked for, by name.
        lanes: the original and the stages, in order.
        work: what a run does.
        timings: the samples; None where nothing was timed.
        problem: why nothing was timed; empty otherwise.
    """

    label: str
    sizes: Mapping[str, Any] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    work: Work = field(default_factory=Work)
    timings: Timings | None = None
    problem: str = ""

    @property
    def timed(self) -> tuple[str, ...]:
        """The stages that were timed, in order, without the original."""
        names = (lane.stage for lane in self.lanes if lane.status is Status.TIMED)
        return tuple(name for name in names if name != ORIGINAL)

    def before(self, stage: str) -> str:
        """The lane timed before a stage: what its gain is held against."""
        names = (ORIGINAL, *self.timed)
        return names[names.index(stage) - 1]

    def rate(self, stage: str, ceilings: Ceilings) -> Rate:
        """TFLOP/s where the case says how many operations a run has, else GB/s."""
        assert self.timings is not None
        ms = self.timings.lanes[stage].median
        if self.work.flops is not None:
            value = self.work.flops / ms / 1e9
            ceiling, unit, of = ceilings.matmul_tflop_s.get(self.work.dtype or ""), "TFLOP/s", "matmul"
        else:
            value, ceiling, unit, of = self.work.bytes / ms / 1e6, ceilings.copy_gb_s, "GB/s", "copy"
        return Rate(value, unit, value / ceiling if ceiling else None, of)


@dataclass(frozen=True)
class FileBench:
    """One kernel file with one case.

    Attributes:
        path, case: as the user named them; the case is None where there is none.
        verdict: PASS where every stage that applies was timed, FAIL where one is wrong or fails, NOT-COMPARABLE where
            nothing could be held against the original, ERROR where the input cannot be used, NOT-RUN without a GPU.
        message: why nothing was timed; empty otherwise.
        sizes: the results.
        environment: GPU, driver and versions.
        ceilings: measured in the same process.
    """

    path: str
    case: str | None
    verdict: Verdict
    message: str = ""
    sizes: tuple[SizeResult, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    ceilings: Ceilings = field(default_factory=Ceilings)


def verdict_of(sizes: Sequence[SizeResult]) -> Verdict:
    """The verdict on a file from its sizes."""
    found = [lane.status for size in sizes for lane in size.lanes if lane.stage != ORIGINAL]
    if Status.WRONG in found or Status.FAILED in found:
        return Verdict.FAIL
    return Verdict.PASS if Status.TIMED in found else Verdict.NOT_COMPARABLE


def gated(size: SizeResult, named: Sequence[str]) -> tuple[str, ...]:
    """The stages that `--min-speed` is about: those that were named, else the last one that was timed."""
    return tuple(stage for stage in size.timed if stage in named) if named else size.timed[-1:]


def gate_failures(files: Iterable[FileBench], min_speed: float | None, named: Sequence[str] = ()) -> list[str]:
    """The stages that are slower than `min_speed` times the original, one line each."""
    found = []
    for file in files if min_speed is not None else ():
        for size in file.sizes:
            for stage in gated(size, named):
                assert size.timings is not None and min_speed is not None
                ratio = size.timings.ratio(stage)
                if ratio.value < min_speed:
                    speed = f"{ratio.value:.4f}x of the original (spread {ratio.spread:.4f}), less than {min_speed:g}x"
                    found.append(f"{file.path}: {size.label}: {stage}: {speed}")
    return found


def exit_code(files: Sequence[FileBench], failures: Sequence[str] = ()) -> int:
    """0 timed and right; 1 a stage is wrong, fails or is below `--min-speed`; 2 unusable input; 3 nothing was timed."""
    codes = [EXIT_CODES[file.verdict] for file in files] or [NOT_RUN]
    return worst_exit_code([*codes, *([FINDINGS] if failures else [])])
