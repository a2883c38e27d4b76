"""What became of mutants: one outcome for each, tables of them, the verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flips import Flip

BAR = 0.95
SAME_CODE = "same PTX as the port in every specification"
UNUSED = "no result depends on what masked lanes hold: NaN (integers: 77) in them changes no bit of any result"
POINTERS = "fewer launches take the kernel of tiles, and that of pointers computes the same: what is lost is speed"
LEFT_VALID = "a barrier has to be invalidated before its memory is used anew (PTX ISA, mbarrier.inval): it is not"
ARGUED = (UNUSED, POINTERS, LEFT_VALID)
"""What T2 shows, of a mutant that passes, to be no fault."""
LIBRARY = {path.stem for path in (Path(__file__).resolve().parents[2] / "rules" / "emitted").rglob("*.py")}
"""Functions that tritonport writes into ports: the same text wherever it stands."""


@dataclass(frozen=True)
class Mutant:
    """One changed port: the fixture, the stage (of another target than sm_90: `sm_100/mma`), what was changed."""

    fixture: str
    stage: str
    flip: Flip

    @property
    def key(self) -> str:
        """Names the mutant over runs. One of a library function is the same mutant in every port."""
        where = "emitted" if self.flip.function in LIBRARY else f"{self.fixture}/{self.stage}"
        return f"{where}/{self.flip.function}/{self.flip.digest}"

    @property
    def group(self) -> str:
        """What the mutant is counted under: the stage of its port, or the functions that all ports share."""
        return "emitted" if self.flip.function in LIBRARY else self.stage


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: `T2`, `T1` (what killed it), or None (it survived)."""

    mutant: Mutant
    killer: str | None
    how: str

    def to_json(self) -> dict[str, Any]:
        """As it stands in the report."""
        flip = self.mutant.flip
        return {
            "key": self.mutant.key,
            "fixture": self.mutant.fixture,
            "stage": self.mutant.stage,
            "kind": flip.kind,
            "function": flip.function,
            "line": flip.line,
            "before": flip.before,
            "after": flip.after,
            "source": flip.source,
            "killed_by": self.killer,
            "how": self.how,
        }


def merged(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """One outcome for each mutant: that of a library function is killed where any port that holds it kills it."""
    by_key: dict[str, Outcome] = {}
    for one in outcomes:
        known = by_key.get(one.mutant.key)
        if known is None or _weight(one) > _weight(known):
            by_key[one.mutant.key] = one
    return list(by_key.values())


def _weight(outcome: Outcome) -> int:
    """Which of several outcomes counts: what kills a mutant, else what leaves it unexplained."""
    if outcome.killer is not None:
        return 3 if outcome.killer == "T2" else 2
    return 0 if outcome.how in ARGUED or outcome.how == SAME_CODE else 1


def fate_of(outcome: Outcome, equivalent: dict[str, str]) -> str:
    """`T2`, `T1`, `code` (compiles to the same), `argued` (listed as equivalent), or `survives`."""
    if outcome.killer is not None:
        return outcome.killer
    if outcome.how == SAME_CODE:
        return "code"
    return "argued" if outcome.how in ARGUED or outcome.mutant.key in equivalent else "survives"


def table(outcomes: Sequence[Outcome], equivalent: dict[str, str]) -> str:
    """By what is flipped, and by which ports it was in; layouts are left out of the sums, see `verdict`."""
    counted = [one for one in outcomes if one.mutant.flip.kind != "layout"]
    kinds = _rows(counted, equivalent, lambda one: one.mutant.flip.kind)
    layouts = _rows([one for one in outcomes if one.mutant.flip.kind == "layout"], equivalent, lambda _: "layout")
    groups = _rows(counted, equivalent, lambda one: one.mutant.group)
    total = _rows(counted, equivalent, lambda _: "all of these")
    return f"{_shown('what is flipped', kinds | total | layouts)}\n{_shown('where', groups | total)}"


def _rows(
    outcomes: Sequence[Outcome], equivalent: dict[str, str], key: Callable[[Outcome], str]
) -> dict[str, Counter[str]]:
    """The fates of mutants by some property of them, the commonest first."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        rows[key(one)][fate_of(one, equivalent)] += 1
    return dict(sorted(rows.items(), key=lambda item: -item[1].total()))


def _shown(head: str, rows: dict[str, Counter[str]]) -> str:
    lines = [
        f"| {head} | mutants | killed by T2 | by T1 | same code | argued equal | survive | killed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        cells = [str(row[fate]) for fate in ("T2", "T1", "code", "argued", "survives")]
        lines.append(f"| {name} | {row.total()} | {' | '.join(cells)} | {100 * _rate(row):.1f} % |")
    return "\n".join(lines) + "\n"


def _rate(row: Counter[str]) -> float:
    """The share of the mutants that are faults which is killed."""
    faults = row.total() - row["code"] - row["argued"]
    return (row["T2"] + row["T1"]) / faults if faults else 1.0


def verdict(outcomes: Sequence[Outcome], equivalent: dict[str, str]) -> int:
    """Layouts are left out of the rate: a wrong one changes the speed alone, and T1's bars are for what that costs."""
    counts: Counter[str] = Counter()
    for one in outcomes:
        fate, flip = fate_of(one, equivalent), one.mutant.flip
        if flip.kind != "layout":
            counts[fate] += 1
        if fate == "survives":
            print(f"survives: {one.mutant.key} line {flip.line} {flip.before!r} -> {flip.after!r}: {flip.source}")
    wrong = [one.mutant.key for one in outcomes if one.killer is not None and one.mutant.key in equivalent]
    for key in wrong:
        print(f"listed as equivalent, but killed: {key}")
    return 1 if wrong or _rate(counts) < BAR else 0
