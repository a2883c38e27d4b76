"""Flip one thing at a time in the golden ports, and see whether the checks that need no GPU notice.

    python scripts/mutate.py [FIXTURE ...] [--sample N] [--own | --emitted] [-j N] [--out FILE.json] [--table FILE.md]

Every port in fixtures/*/expected/ is changed in one place: an offset, a mask, a stride, a comparison, a phase, the
count of a wait, a number of bytes; a fence, a wait or a store is taken away. A mutant is killed where T2 fails (the
port in the CPU emulator against the original, on the inputs of the fixture's case) or, for those that T2 lets pass,
where T1 does: it does not compile, or misses a bar that the port itself holds. A mutant that computes the same as the
port is no fault: the compiler makes the same PTX of both in every specification of the case (one at least compiles the
line), or the mutant is listed with the reason in scripts/mutation/equivalent.json. A listed one that is killed is an
error.

Exit codes: 0 at least 95 % are killed; 1 fewer, or a listed mutant is killed or is none; 2 a fixture cannot be run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts" / "mutation")]

from compiled import Compiled, compile_texts, fails  # noqa: E402
from flips import Flip, flips  # noqa: E402
from session import Judgement, judge_mutants  # noqa: E402

from tritonport.verify.isolate import run_isolated  # noqa: E402

TARGET = "sm_90"
BAR = 0.95
SAME_CODE = "same PTX as the port in every specification"
UNUSED = "no result depends on what masked lanes hold: NaN (integers: 77) in them changes no bit of any result"
_SPECIALISED = {"stride", "offset", "mask", "branch", "loop", "extent", "descriptor stride"}
"""Kinds that the same PTX says nothing about: the specifications may all have a stride of one."""
_EQUIVALENT = ROOT / "scripts" / "mutation" / "equivalent.json"
_LIBRARY = {path.stem for path in (ROOT / "rules" / "emitted").rglob("*.py")}
"""Functions that tritonport writes into ports: the same text wherever it stands."""


@dataclass(frozen=True)
class Mutant:
    """One changed port: the fixture, the stage, what was changed."""

    fixture: str
    stage: str
    flip: Flip

    @property
    def key(self) -> str:
        """Names the mutant over runs. One of a library function is the same mutant in every port."""
        where = "emitted" if self.flip.function in _LIBRARY else f"{self.fixture}/{self.stage}"
        return f"{where}/{self.flip.function}/{self.flip.digest}"


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


def main() -> int:
    """The command line."""
    arguments = _arguments()
    ports = [path for path in sorted(ROOT.glob("fixtures/*/expected/*.py")) if _wanted(path, arguments)]
    earlier = json.loads(Path(arguments.reuse).read_text(encoding="utf-8"))["mutants"] if arguments.reuse else []
    arguments.equivalent = _equivalents()
    arguments.known = {one["key"]: one for one in earlier if one["killed_by"] or one["how"] in (SAME_CODE, UNUSED)}
    outcomes: list[Outcome] = []
    unusable = False
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for future in [pool.submit(_run_port, path, arguments) for path in ports]:
            try:
                outcomes += future.result()
            except RuntimeError as error:
                unusable = True
                print(error, file=sys.stderr, flush=True)
    merged = _merged(outcomes)
    equivalent = arguments.equivalent
    if arguments.out:
        report = {"schema_version": 1, "target": TARGET, "mutants": [one.to_json() for one in merged]}
        Path(arguments.out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    table = _table(merged, equivalent)
    if arguments.table:
        Path(arguments.table).write_text(table, encoding="utf-8")
    print(table)
    verdict = _verdict(merged, equivalent)
    return 2 if unusable else verdict


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fixtures", nargs="*", help="names; all where there is none")
    parser.add_argument("--sample", type=int, help="mutants of each port, always the same; all where it is not given")
    parser.add_argument("--stages", type=lambda text: set(text.split(",")), help="such as tma,mma; all where not given")
    parser.add_argument("--own", action="store_true", help="leave out the functions that tritonport writes into ports")
    parser.add_argument("--emitted", action="store_true", help="only the functions that tritonport writes into ports")
    parser.add_argument("--kinds", type=lambda text: set(text.split(",")), help="such as offset,mask")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-compile", action="store_true", help="leave T1 out")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for the mutants of one port")
    parser.add_argument("--reuse", metavar="FILE.json", help="an earlier --out: what is killed in it is not run again")
    parser.add_argument("--out", help="write every mutant as JSON")
    parser.add_argument("--table", help="write the table as Markdown")
    return parser.parse_args()


def _wanted(path: Path, arguments: argparse.Namespace) -> bool:
    names, stages = arguments.fixtures, arguments.stages
    return (not names or path.parents[1].name in names) and (not stages or path.stem in stages)


def _run_port(path: Path, arguments: argparse.Namespace) -> list[Outcome]:
    """All mutants of one port, T2 first. Raises RuntimeError where its original does not run."""
    fixture, stage = path.parents[1].name, path.stem
    text = path.read_text(encoding="utf-8")
    mutants = [Mutant(fixture, stage, flip) for flip in flips(text)]
    mutants = [one for one in mutants if arguments.kinds is None or one.flip.kind in arguments.kinds]
    if arguments.own:
        mutants = [one for one in mutants if one.flip.function not in _LIBRARY and not _is_literal(one)]
    if arguments.emitted:
        mutants = [one for one in mutants if one.flip.function in _LIBRARY]
    if arguments.sample is not None:
        mutants = sorted(mutants, key=lambda one: one.flip.digest)[: arguments.sample]
    case = path.parents[1] / f"{fixture}_case.py"
    kernel_file = path.parents[1] / f"{fixture}.py"
    earlier = {key: one for one in mutants if (key := one.key) in arguments.known}
    outcomes = [
        Outcome(one, arguments.known[key]["killed_by"], arguments.known[key]["how"]) for key, one in earlier.items()
    ]
    outcomes += _emulated([one for one in mutants if one.key not in earlier], text, kernel_file, case, arguments)
    if not arguments.no_compile:
        outcomes = _compiled(outcomes, text, kernel_file, case, arguments)
    left = sum(one.killer is None for one in outcomes)
    print(f"{fixture}/{stage}: {len(outcomes)} mutants, {left} not killed", file=sys.stderr, flush=True)
    return outcomes


def _is_literal(mutant: Mutant) -> bool:
    """Whether it is of the kernel without tiles in a port of a later stage, which the literal port has too."""
    return mutant.stage != "literal" and mutant.flip.function.endswith("_pointers")


def _emulated(
    mutants: list[Mutant], text: str, kernel_file: Path, case: Path, arguments: argparse.Namespace
) -> list[Outcome]:
    """T2 of these mutants."""
    if not mutants:
        return []
    # The port itself last: where it fails, every mutant does, and nothing is shown.
    twins = [twin for one in mutants for twin in one.flip.twins(text)]
    texts = [*(one.flip.apply(text) for one in mutants), *twins, text]
    done = run_isolated(judge_mutants, kernel_file, case, TARGET, texts, timeout=arguments.timeout)
    if not done.returned:
        said = done.error or done.signal or "not done in time"
        raise RuntimeError(f"{kernel_file.stem}: {said}\n{done.output[-2000:]}")
    *judged, itself = done.value
    if itself.killed:
        raise RuntimeError(f"{kernel_file.stem}: the port itself fails: {itself.how}")
    unused = iter(not twin.killed for twin in judged[len(mutants) :])
    outcomes = [_outcome(mutant, judgement) for mutant, judgement in zip(mutants, judged, strict=False)]
    return [
        replace(one, how=UNUSED) if one.mutant.flip.kind == "fill" and next(unused) and one.killer is None else one
        for one in outcomes
    ]


def _outcome(mutant: Mutant, judgement: Judgement) -> Outcome:
    return Outcome(mutant, "T2" if judgement.killed else None, judgement.how.splitlines()[0][:160])


def _compiled(
    outcomes: list[Outcome], text: str, kernel_file: Path, case: Path, arguments: argparse.Namespace
) -> list[Outcome]:
    """The same with T1 of those that T2 lets pass, and which of them compile to the code of the port."""
    left = [one for one in outcomes if _fate(one, arguments.equivalent) == "survives"]
    if not left:
        return outcomes
    port, *others = _compile(kernel_file, case, [text, *(one.mutant.flip.apply(text) for one in left)], arguments)
    judged = {}
    same = []
    for one, mutant in zip(left, others, strict=True):
        why = fails(mutant, port)
        if why is not None:
            judged[one.mutant] = Outcome(one.mutant, "T1", why[:160])
        elif mutant.code == port.code and one.mutant.flip.kind not in _SPECIALISED:
            same.append(one)
    if same:
        marked = _compile(kernel_file, case, [one.mutant.flip.marked(text) for one in same], arguments)
        # Some specification compiles the line, and the change makes no difference in any.
        judged |= {
            one.mutant: replace(one, how=SAME_CODE) for one, found in zip(same, marked, strict=True) if found.failures
        }
    return [judged.get(one.mutant, one) for one in outcomes]


def _compile(kernel_file: Path, case: Path, texts: list[str], arguments: argparse.Namespace) -> list[Compiled]:
    done = run_isolated(compile_texts, kernel_file, case, TARGET, texts, timeout=arguments.timeout)
    if not done.returned:
        raise RuntimeError(f"{kernel_file.stem}: {done.error or done.signal or 'not done in time'}")
    found: list[Compiled] = done.value
    return found


def _merged(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """One outcome for each mutant: that of a library function is killed where any port that holds it kills it."""
    by_key: dict[str, Outcome] = {}
    for one in outcomes:
        known = by_key.get(one.mutant.key)
        if known is None or (known.killer != "T2" and one.killer is not None):
            by_key[one.mutant.key] = one
    return list(by_key.values())


def _fate(outcome: Outcome, equivalent: dict[str, str]) -> str:
    """`T2`, `T1`, `code` (compiles to the same), `argued` (listed as equivalent), or `survives`."""
    if outcome.killer is not None:
        return outcome.killer
    if outcome.how == SAME_CODE:
        return "code"
    return "argued" if outcome.how == UNUSED or outcome.mutant.key in equivalent else "survives"


def _table(outcomes: Sequence[Outcome], equivalent: dict[str, str]) -> str:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        rows[one.mutant.flip.kind][_fate(one, equivalent)] += 1
    layout = rows.pop("layout", Counter())
    total: Counter[str] = sum(rows.values(), Counter())
    lines = [
        "| what is flipped | mutants | killed by T2 | by T1 | same code | argued equal | survive | killed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    shown = [*sorted(rows.items(), key=lambda item: -item[1].total()), ("all of these", total)]
    for kind, row in [*shown, *([("layout", layout)] if layout else [])]:
        cells = [str(row[name]) for name in ("T2", "T1", "code", "argued", "survives")]
        lines.append(f"| {kind} | {row.total()} | {' | '.join(cells)} | {100 * _rate(row):.1f} % |")
    return "\n".join(lines) + "\n"


def _rate(row: Counter[str]) -> float:
    """The share of the mutants that are faults which is killed."""
    faults = row.total() - row["code"] - row["argued"]
    return (row["T2"] + row["T1"]) / faults if faults else 1.0


def _verdict(outcomes: Sequence[Outcome], equivalent: dict[str, str]) -> int:
    """Layouts are left out of the rate: a wrong one changes the speed alone, and T1's bars are for what that costs."""
    counts: Counter[str] = Counter()
    for one in outcomes:
        fate, flip = _fate(one, equivalent), one.mutant.flip
        if flip.kind != "layout":
            counts[fate] += 1
        if fate == "survives":
            print(f"survives: {one.mutant.key} line {flip.line} {flip.before!r} -> {flip.after!r}: {flip.source}")
    wrong = [one.mutant.key for one in outcomes if one.killer is not None and one.mutant.key in equivalent]
    for key in wrong:
        print(f"listed as equivalent, but killed: {key}")
    return 1 if wrong or _rate(counts) < BAR else 0


def _equivalents() -> dict[str, str]:
    """The mutants that are listed as equivalent, each with the reason."""
    groups = json.loads(_EQUIVALENT.read_text(encoding="utf-8"))
    return {key: group["why"] for group in groups for key in group["mutants"]}


if __name__ == "__main__":
    sys.exit(main())
