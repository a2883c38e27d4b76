"""Which stage to keep: the last one that is faster than what was kept before it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tritonport.bench.result import FileBench, Lane, SizeResult, Status
from tritonport.bench.statistics import ORIGINAL, Ratio, mean_ratio
from tritonport.bench.versions import LITERAL


@dataclass(frozen=True)
class Gain:
    """What one stage is worth.

    Attributes:
        stage: the stage.
        over: what was kept before it.
        speed: against `over`, the geometric mean over the sizes; None where it was not timed on all of them.
        total: against the original; None as above.
        kept: whether it is faster than `over`, by more than the spread.
        reason: why it was not timed.
        wrong: whether that is because it is wrong or fails.
    """

    stage: str
    over: str
    speed: Ratio | None = None
    total: Ratio | None = None
    kept: bool = False
    reason: str = ""
    wrong: bool = False

    def __str__(self) -> str:
        if self.speed is None or self.total is None:
            return f"{self.stage}: {'not timed' if self.wrong else 'does not apply'}: {self.reason}"
        text = f"{self.stage}: {self.total.value:.4f}x of the original"
        if self.over != ORIGINAL:
            text += f", {self.speed.value:.4f}x of {self.over}"
        text += f" (spread {self.speed.spread:.4f}): {self.speed.words}"
        return f"{text}, kept" if self.kept else text


@dataclass(frozen=True)
class Best:
    """The stage to keep, and what each one gained.

    Attributes:
        stage: the name of the stage; `original` where the file as it stands is best of what is right and applies; None
            where nothing right was timed.
        total: its speed against the original; None for the original itself.
        gains: of every stage, in order.
    """

    stage: str | None
    total: Ratio | None
    gains: tuple[Gain, ...]

    @property
    def wrong(self) -> bool:
        """Whether a stage is wrong or fails."""
        return any(gain.wrong for gain in self.gains)


def best_of(bench: FileBench, stages: Sequence[str]) -> Best:
    """The last of these stages that won, each against what was kept before it.

    The literal port is where the stages begin: it is kept where it is right, also where it is slower than the original,
    which may have a software pipeline that the port does not have yet.
    """
    sizes = [size for size in bench.sizes if not size.problem]
    kept: str | None = None
    total: Ratio | None = None
    gains: list[Gain] = []
    for stage in stages:
        over = kept or ORIGINAL
        unfit = _unfit(sizes, stage)
        if unfit is not None:
            wrong = unfit.status in (Status.WRONG, Status.FAILED)
            gains.append(Gain(stage, over, reason=unfit.reason, wrong=wrong))
            if stage == LITERAL and not wrong:
                # The file is Gluon already: the stages begin at the file as it stands.
                kept = ORIGINAL
            continue
        speed, against = _ratio(sizes, stage, over), _ratio(sizes, stage, ORIGINAL)
        wins = kept is None or (speed.resolved and speed.value > 1.0)
        gains.append(Gain(stage, over, speed, against, wins))
        if wins:
            kept, total = stage, against
    return Best(kept, total, tuple(gains))


def _unfit(sizes: Sequence[SizeResult], stage: str) -> Lane | None:
    """The lane of a size on which a stage was not timed; None where it was on all."""
    for size in sizes:
        lane = next((lane for lane in size.lanes if lane.stage == stage), None)
        if lane is None or lane.status is not Status.TIMED or size.timings is None:
            return lane or Lane(stage, Status.FAILED, "was not tried")
    return None if sizes else Lane(stage, Status.FAILED, "nothing was timed")


def _ratio(sizes: Sequence[SizeResult], stage: str, over: str) -> Ratio:
    return mean_ratio([size.timings.ratio(stage, over) for size in sizes if size.timings is not None])
