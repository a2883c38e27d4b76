"""What a tier found out about a file, and what that makes of the exit code."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tritonport.report.diagnostic import Diagnostic
from tritonport.report.exit_codes import DONE, FINDINGS, NOT_RUN, UNUSABLE, worst_exit_code

TIERS = ("T0", "T1", "T2", "T3", "T4")
DEFAULT_TIERS = TIERS[:4]
"""Those that run where none is named: T4 takes minutes."""
TIER_TITLES: Mapping[str, str] = {"T0": "static", "T1": "compile", "T2": "emulate", "T3": "numeric", "T4": "safety"}
NUMERIC_TIERS = frozenset({"T2", "T3"})
"""The tiers that run the kernels and compare what they compute."""


class Verdict(enum.Enum):
    """The outcome of one tier on one file."""

    PASS = "PASS"
    """Everything asked was compared and holds; numbers are equal bit for bit."""
    PASS_TOLERANCE = "PASS-TOLERANCE"
    """Some numbers differ, by no more than is allowed."""
    FAIL = "FAIL"
    """The port is wrong."""
    ERROR = "ERROR"
    """The input cannot be used, or a process crashed."""
    NOT_COMPARABLE = "NOT-COMPARABLE"
    """Nothing was compared, or the original is no measure."""
    NOT_RUN = "NOT-RUN"
    """What the tier needs is not here."""


EXIT_CODES: Mapping[Verdict, int] = {
    Verdict.PASS: DONE,
    Verdict.PASS_TOLERANCE: DONE,
    Verdict.FAIL: FINDINGS,
    Verdict.ERROR: UNUSABLE,
    Verdict.NOT_COMPARABLE: NOT_RUN,
    Verdict.NOT_RUN: NOT_RUN,
}
_WORST_FIRST = (
    Verdict.ERROR,
    Verdict.FAIL,
    Verdict.NOT_COMPARABLE,
    Verdict.PASS_TOLERANCE,
    Verdict.PASS,
    Verdict.NOT_RUN,
)


@dataclass(frozen=True)
class TierResult:
    """One tier on one file.

    Attributes:
        tier: `T0` to `T4`.
        verdict: the outcome.
        summary: a few words for the table: how much was compared, or why nothing was.
        findings: what is wrong, worst first; empty for a pass.
        notes: further lines for the reader: numbers of the comparison, kernels that were not launched.
        data: what else the report holds, as JSON values.
        seconds: wall time.
    """

    tier: str
    verdict: Verdict
    summary: str = ""
    findings: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that stands for several; NOT-RUN for none."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.NOT_RUN)


@dataclass(frozen=True)
class FileResult:
    """All tiers of one kernel file.

    Attributes:
        path: the kernel file, as the user named it.
        case: its case; None where it has none.
        tiers: the results, in the order of the tiers.
        requested: the tiers that the user named; empty when all were run by default.
        stage: how far the port goes: `literal`, or a stage of `tritonport.upgrade`.
    """

    path: str
    case: str | None
    tiers: tuple[TierResult, ...]
    requested: frozenset[str] = frozenset()
    stage: str = "literal"

    @property
    def title(self) -> str:
        """The file for a table: with the stage, where it is not the literal one."""
        return self.path if self.stage == "literal" else f"{self.path} ({self.stage})"

    @property
    def verdict(self) -> Verdict:
        """The worst of the tiers."""
        return worst(result.verdict for result in self.tiers)

    @property
    def exit_code(self) -> int:
        """1 for FAIL, 2 for ERROR, 3 where nothing was compared, else 0.

        A tier that could not run among others that did changes nothing, unless the user named it.
        """
        codes = [
            EXIT_CODES[result.verdict]
            for result in self.tiers
            if result.verdict is not Verdict.NOT_RUN or result.tier in self.requested
        ]
        compared = [result for result in self.tiers if result.verdict is not Verdict.NOT_RUN]
        numeric = [result for result in self.tiers if result.tier in NUMERIC_TIERS]
        if not compared or (numeric and all(result.verdict is Verdict.NOT_RUN for result in numeric)):
            codes.append(NOT_RUN)
        return worst_exit_code(codes)


def exit_code(files: Iterable[FileResult]) -> int:
    """The exit code of a run: the worst of 2 > 1 > 3 > 0; 3 for no file at all."""
    codes = [file.exit_code for file in files]
    return worst_exit_code(codes) if codes else NOT_RUN
