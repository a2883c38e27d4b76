"""Flip one thing at a time in the golden ports, and see whether the checks that need no GPU notice.

    python scripts/mutate.py [FIXTURE ...] [--sample N | --share F] [--seed S] [--own | --emitted] [-j N]
                             [--out FILE.json] [--table FILE.md]

Every port in fixtures/*/expected/ (and in sm_100/ there) is changed in one place: an offset, a mask, a stride, a
comparison, a phase, the count of a wait, a number of bytes; a fence, a wait or a store is taken away. A mutant is
killed where T2 fails (the port in the CPU emulator against the original, on the inputs of the fixture's case) or, for
those that T2 lets pass, where T1 does: it does not compile, or misses a bar that the port itself holds. A mutant that
computes the same as the port is no fault: the compiler makes the same PTX of both in every specification of the case
(one at least compiles the line), or the mutant is listed with the reason in scripts/mutation/equivalent.json. A listed
one that is killed is an error.

Exit codes: 0 at least 95 % are killed; 1 fewer, or a listed mutant is killed or is none; 2 a fixture cannot be run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts" / "mutation")]

from compiled import Compiled, compile_texts, fails  # noqa: E402
from flips import flips  # noqa: E402
from outcomes import (  # noqa: E402
    ARGUED,
    LEFT_VALID,
    LIBRARY,
    POINTERS,
    SAME_CODE,
    UNUSED,
    Mutant,
    Outcome,
    fate_of,
    merged,
    table,
    verdict,
)
from session import Judgement, judge_mutants  # noqa: E402

from tritonport.verify.isolate import run_isolated  # noqa: E402

DEFAULT_TARGET = "sm_90"
"""What the goldens are for that lie in no directory named for another."""
_SPECIALISED = {"stride", "offset", "mask", "branch", "loop", "extent", "descriptor stride"}
"""Kinds that the same PTX says nothing about: the specifications may all have a stride of one."""
_EQUIVALENT = ROOT / "scripts" / "mutation" / "equivalent.json"


def main() -> int:
    """The command line."""
    arguments = _arguments()
    ports = [port for port in _ports() if _wanted(port, arguments)]
    earlier = json.loads(Path(arguments.reuse).read_text(encoding="utf-8"))["mutants"] if arguments.reuse else []
    arguments.equivalent = _equivalents()
    arguments.known = {
        one["key"]: (one["killed_by"], one["how"])
        for one in earlier
        if one["killed_by"] or one["how"] in (SAME_CODE, *ARGUED)
    }
    outcomes: list[Outcome] = []
    unusable = False
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for future in [pool.submit(_run_port, port, arguments) for port in ports]:
            try:
                outcomes += future.result()
            except RuntimeError as error:
                unusable = True
                print(error, file=sys.stderr, flush=True)
    found = merged(outcomes)
    equivalent = arguments.equivalent
    if arguments.out:
        report = {"schema_version": 1, "mutants": [one.to_json() for one in found]}
        Path(arguments.out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    shown = table(found, equivalent)
    if arguments.table:
        Path(arguments.table).write_text(shown, encoding="utf-8")
    print(shown)
    code = verdict(found, equivalent)
    return 2 if unusable else code


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fixtures", nargs="*", help="names; all where there is none")
    parser.add_argument("--sample", type=int, help="mutants of each port, always the same; all where it is not given")
    parser.add_argument("--share", type=float, help="the share of all mutants to take, the same ones in every port")
    parser.add_argument("--seed", default="", help="which sample is taken: any text")
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


@dataclass(frozen=True)
class Port:
    """A golden port: its file, its fixture, the stage as `Mutant` has it, and the target it is for."""

    path: Path
    fixture: str
    stage: str
    target: str


def _ports() -> list[Port]:
    """Every golden port of every fixture."""
    found = []
    for path in sorted(ROOT.glob("fixtures/*/expected/**/*.py")):
        fixture, _, *inside = path.relative_to(ROOT / "fixtures").with_suffix("").parts
        found.append(Port(path, fixture, "/".join(inside), inside[0] if len(inside) > 1 else DEFAULT_TARGET))
    return found


def _wanted(port: Port, arguments: argparse.Namespace) -> bool:
    names, stages = arguments.fixtures, arguments.stages
    return (not names or port.fixture in names) and (not stages or port.stage in stages)


def _run_port(port: Port, arguments: argparse.Namespace) -> list[Outcome]:
    """All mutants of one port, T2 first. Raises RuntimeError where its original does not run."""
    text = port.path.read_text(encoding="utf-8")
    mutants = [Mutant(port.fixture, port.stage, flip) for flip in flips(text)]
    mutants = [one for one in mutants if arguments.kinds is None or one.flip.kind in arguments.kinds]
    if arguments.own:
        mutants = [one for one in mutants if one.flip.function not in LIBRARY and not _is_literal(one)]
    if arguments.emitted:
        mutants = [one for one in mutants if one.flip.function in LIBRARY]
    mutants = _sampled(mutants, arguments)
    earlier = {key: one for one in mutants if (key := one.key) in arguments.known}
    outcomes = [Outcome(one, *arguments.known[key]) for key, one in earlier.items()]
    outcomes += _emulated([one for one in mutants if one.key not in earlier], text, port, arguments)
    if not arguments.no_compile:
        outcomes = _compiled(outcomes, text, port, arguments)
    # One of a function that many ports hold needs no second port to kill it.
    arguments.known |= {one.mutant.key: (one.killer, one.how) for one in outcomes if one.killer is not None}
    left = sum(one.killer is None for one in outcomes)
    print(f"{port.fixture}/{port.stage}: {len(outcomes)} mutants, {left} not killed", file=sys.stderr, flush=True)
    return outcomes


def _sampled(mutants: list[Mutant], arguments: argparse.Namespace) -> list[Mutant]:
    """Those of a port that the command asks for; another seed draws others."""

    def drawn(one: Mutant) -> str:
        seeded = f"{arguments.seed}/{one.flip.digest}".encode()
        return hashlib.sha256(seeded).hexdigest() if arguments.seed else one.flip.digest

    if arguments.share is not None:
        mutants = [one for one in mutants if int(drawn(one)[:8], 16) < arguments.share * 2**32]
    return mutants if arguments.sample is None else sorted(mutants, key=drawn)[: arguments.sample]


def _is_literal(mutant: Mutant) -> bool:
    """Whether it is of the kernel without tiles in a port of a later stage, which the literal port has too."""
    return mutant.stage != "literal" and mutant.flip.function.endswith("_pointers")


def _emulated(mutants: list[Mutant], text: str, port: Port, arguments: argparse.Namespace) -> list[Outcome]:
    """T2 of these mutants."""
    if not mutants:
        return []
    # The port itself last: where it fails, every mutant does, and nothing is shown.
    twins = [twin for one in mutants for twin in one.flip.twins(text)]
    texts = [*(one.flip.apply(text) for one in mutants), *twins, text]
    done = run_isolated(judge_mutants, *_files(port), port.target, texts, timeout=arguments.timeout)
    if not done.returned:
        said = done.error or done.signal or "not done in time"
        raise RuntimeError(f"{port.fixture}/{port.stage}: {said}\n{done.output[-2000:]}")
    *judged, itself = done.value
    if itself.killed:
        raise RuntimeError(f"{port.fixture}/{port.stage}: the port itself fails: {itself.how}")
    unused = iter(not twin.killed for twin in judged[len(mutants) :])
    outcomes = [_outcome(mutant, judgement, itself) for mutant, judgement in zip(mutants, judged, strict=False)]
    return [
        replace(one, how=UNUSED) if one.mutant.flip.kind == "fill" and next(unused) and one.killer is None else one
        for one in outcomes
    ]


def _outcome(mutant: Mutant, judgement: Judgement, port: Judgement) -> Outcome:
    """What T2 says of a mutant; of one that passes, whether it is no fault."""
    if judgement.killed:
        return Outcome(mutant, "T2", judgement.how.splitlines()[0][:160])
    if judgement.tiles < port.tiles:
        return Outcome(mutant, None, POINTERS)
    # The emulator reports a barrier that is initialised, or memory that is written, where one is still valid.
    left_valid = mutant.flip.kind == "barrier" and mutant.flip.before.startswith("mbarrier.invalidate")
    return Outcome(mutant, None, LEFT_VALID if left_valid else judgement.how.splitlines()[0][:160])


def _files(port: Port) -> tuple[Path, Path]:
    """The kernel file and its case."""
    directory = ROOT / "fixtures" / port.fixture
    return directory / f"{port.fixture}.py", directory / f"{port.fixture}_case.py"


def _compiled(outcomes: list[Outcome], text: str, port: Port, arguments: argparse.Namespace) -> list[Outcome]:
    """The same with T1 of those that T2 lets pass, and which of them compile to the code of the port."""
    left = [one for one in outcomes if fate_of(one, arguments.equivalent) == "survives"]
    if not left:
        return outcomes
    itself, *others = _compile(port, [text, *(one.mutant.flip.apply(text) for one in left)], arguments)
    judged = {}
    same = []
    for one, mutant in zip(left, others, strict=True):
        why = fails(mutant, itself)
        if why is not None:
            judged[one.mutant] = Outcome(one.mutant, "T1", why[:160])
        elif mutant.code == itself.code and one.mutant.flip.kind not in _SPECIALISED:
            same.append(one)
    if same:
        marked = _compile(port, [one.mutant.flip.marked(text) for one in same], arguments)
        # Some specification compiles the line, and the change makes no difference in any.
        judged |= {
            one.mutant: replace(one, how=SAME_CODE) for one, found in zip(same, marked, strict=True) if found.failures
        }
    return [judged.get(one.mutant, one) for one in outcomes]


def _compile(port: Port, texts: list[str], arguments: argparse.Namespace) -> list[Compiled]:
    done = run_isolated(compile_texts, *_files(port), port.target, texts, timeout=arguments.timeout)
    if not done.returned:
        raise RuntimeError(f"{port.fixture}/{port.stage}: {done.error or done.signal or 'not done in time'}")
    found: list[Compiled] = done.value
    return found


def _equivalents() -> dict[str, str]:
    """The mutants that are listed as equivalent, each with the reason."""
    groups = json.loads(_EQUIVALENT.read_text(encoding="utf-8"))
    return {key: group["why"] for group in groups for key in group["mutants"]}


if __name__ == "__main__":
    sys.exit(main())
