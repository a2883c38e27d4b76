"""Flip one thing at a time in the golden ports, and see whether the checks that need no GPU notice.

    python scripts/mutate.py [FIXTURE ...] [--sample N] [-j N] [--out FILE.json] [--table FILE.md]

Every port in fixtures/*/expected/ is changed in one place: an offset, a mask, a stride, a comparison, a phase, the
count of a wait, a number of bytes; a fence, a wait or a store is taken away. A mutant is killed where T2 fails (the port
in the CPU emulator against the original, on the inputs of the fixture's case) or, for those that T2 lets pass, where T1
does: it does not compile, or misses a bar that the port itself holds. A mutant that computes the same as the port is no
fault: those are listed, each with the reason, in scripts/mutation/equivalent.json, and a listed one that is killed is an
error.

Exit codes: 0 at least 95 % are killed; 1 fewer, or a listed mutant is killed or is none; 2 a fixture cannot be run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts" / "mutation")]

from flips import Flip, flips  # noqa: E402
from session import Judgement, judge_mutants  # noqa: E402

from tritonport.verify.isolate import run_isolated  # noqa: E402
from tritonport.verify.parity import run_request  # noqa: E402
from tritonport.verify.request import Request  # noqa: E402

TARGET = "sm_90"
BAR = 0.95
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
    ports = [path for path in sorted(ROOT.glob("fixtures/*/expected/*.py")) if _wanted(path, arguments.fixtures)]
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
    equivalent = json.loads(_EQUIVALENT.read_text(encoding="utf-8")) if _EQUIVALENT.is_file() else {}
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
    parser.add_argument("--kinds", type=lambda text: set(text.split(",")), help="such as offset,mask")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-compile", action="store_true", help="leave T1 out")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for the mutants of one port")
    parser.add_argument("--out", help="write every mutant as JSON")
    parser.add_argument("--table", help="write the table as Markdown")
    return parser.parse_args()


def _wanted(path: Path, names: Sequence[str]) -> bool:
    return not names or path.parents[1].name in names


def _run_port(path: Path, arguments: argparse.Namespace) -> list[Outcome]:
    """All mutants of one port, T2 first. Raises RuntimeError where its original does not run."""
    fixture, stage = path.parents[1].name, path.stem
    text = path.read_text(encoding="utf-8")
    mutants = [Mutant(fixture, stage, flip) for flip in flips(text)]
    mutants = [one for one in mutants if arguments.kinds is None or one.flip.kind in arguments.kinds]
    if arguments.sample is not None:
        mutants = sorted(mutants, key=lambda one: one.flip.digest)[: arguments.sample]
    kernel_file = path.parents[1] / f"{fixture}.py"
    case = path.parents[1] / f"{fixture}_case.py"
    # The port itself last: where it fails, every mutant does, and nothing is shown.
    texts = [*(one.flip.apply(text) for one in mutants), text]
    done = run_isolated(judge_mutants, kernel_file, case, TARGET, texts, timeout=arguments.timeout)
    if not done.returned:
        raise RuntimeError(f"{fixture}: {done.error or done.signal or 'not done in time'}\n{done.output[-2000:]}")
    *judged, itself = done.value
    if itself.killed:
        raise RuntimeError(f"{fixture}: the port itself fails: {itself.how}")
    compiler = None if arguments.no_compile else Compiler(kernel_file, case, text)
    outcomes = [_outcome(mutant, judgement, text, compiler) for mutant, judgement in zip(mutants, judged, strict=True)]
    left = sum(one.killer is None for one in outcomes)
    told = f"{fixture}: {len(outcomes)} mutants, {left} survive ({done.seconds:.0f} s in T2)"
    print(told, file=sys.stderr, flush=True)
    return outcomes


def _outcome(mutant: Mutant, judgement: Judgement, text: str, compiler: Compiler | None) -> Outcome:
    if judgement.killed:
        return Outcome(mutant, "T2", judgement.how.splitlines()[0][:160])
    missed = compiler.misses(mutant.flip.apply(text)) if compiler is not None else None
    return Outcome(mutant, None if missed is None else "T1", judgement.how if missed is None else missed[:160])


class Compiler:
    """T1 of a port and its mutants: what a mutant misses that the port itself does not."""

    def __init__(self, kernel_file: Path, case: Path, text: str) -> None:
        self._files = kernel_file, case
        self._text = text
        self._itself: set[str] | None = None

    def misses(self, mutant: str) -> str | None:
        """The first specification or bar; None where there is none."""
        if self._itself is None:
            self._itself = set(self._missed(self._text))
        return next((one for one in self._missed(mutant) if one not in self._itself), None)

    def _missed(self, text: str) -> list[str]:
        kernel_file, case = self._files
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            port = Path(folder) / "port.py"
            port.write_text(text, encoding="utf-8")
            request = Request("T1", str(kernel_file), str(case), str(port), targets=(TARGET,), timeout=600.0)
            result = run_request(request)
        if not result.data.get("kernels"):
            return [result.summary or "T1 fails"] if result.verdict.value in ("FAIL", "ERROR") else []
        missed = []
        for row in result.data["kernels"]:
            name = f"{row['kernel']} ({row['specification']})"
            missed += [f"{name}: {bar['name']}" for bar in row.get("bars", ()) if not bar["passed"]]
            if row["verdict"] == "FAIL" and not any(one.startswith(name) for one in missed):
                missed.append(f"{name}: compile")
        return missed


def _merged(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """One outcome for each mutant: that of a library function is killed where any port that holds it kills it."""
    by_key: dict[str, Outcome] = {}
    for one in outcomes:
        known = by_key.get(one.mutant.key)
        if known is None or (known.killer != "T2" and one.killer is not None):
            by_key[one.mutant.key] = one
    return list(by_key.values())


def _table(outcomes: Sequence[Outcome], equivalent: dict[str, str]) -> str:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        same = one.killer is None and one.mutant.key in equivalent
        rows[one.mutant.flip.kind]["equivalent" if same else one.killer or "survived"] += 1
    total: Counter[str] = sum(rows.values(), Counter())
    lines = [
        "| what is flipped | mutants | killed by T2 | by T1 | equivalent | survive | killed |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, row in [*sorted(rows.items(), key=lambda item: -item[1].total()), ("all", total)]:
        cells = [str(row[name]) for name in ("T2", "T1", "equivalent", "survived")]
        lines.append(f"| {kind} | {row.total()} | {' | '.join(cells)} | {100 * _rate(row):.1f} % |")
    return "\n".join(lines) + "\n"


def _rate(row: Counter[str]) -> float:
    """The share of the mutants that are faults which is killed."""
    faults = row.total() - row["equivalent"]
    return (row["T2"] + row["T1"]) / faults if faults else 1.0


def _verdict(outcomes: Sequence[Outcome], equivalent: dict[str, str]) -> int:
    counts: Counter[str] = Counter()
    wrong = [one.mutant.key for one in outcomes if one.killer is not None and one.mutant.key in equivalent]
    for one in outcomes:
        same = one.killer is None and one.mutant.key in equivalent
        counts["equivalent" if same else one.killer or "survived"] += 1
        if one.killer is None and not same:
            flip = one.mutant.flip
            print(f"survives: {one.mutant.key} line {flip.line} {flip.before!r} -> {flip.after!r}: {flip.source}")
    for key in wrong:
        print(f"listed as equivalent, but killed: {key}")
    return 1 if wrong or _rate(counts) < BAR else 0


if __name__ == "__main__":
    sys.exit(main())
