"""T4 of the fixtures, several at once: `python scripts/gpu/safety.py --out RESULTS [FIXTURE...]` on a GPU.

    --triton FOLDER     holds the package triton to use in place of the installed one
    --sanitizers LIST   of consan, fpsan, memcheck; ConSan and FpSan where none is named
    --stages LIST       of those that a fixture has an expected file for; all of them where none is named
    --again RESULTS     leaves out what a run before has an answer to, and writes both to --out

Each fixture, stage and sanitizer is one item with a time limit of its own; short ones come first. Every answer is a
line of the output, and RESULTS/safety.md and RESULTS/safety.json are written again after each, so that they are whole
whenever the time is over. Before the items, ports with a race in them, one for each stage, which ConSan has to find:
of a sanitizer that sees nothing a clean run says nothing.

Exit codes: 0 all items pass or have nothing to watch, and the races are found; 1 not; 3 nothing was run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
STAGES = ("literal", "async-copy", "tma", "multibuffer", "mma")
TARGET = "sm_90"
START = 15.0
"""Seconds that an item must have to be begun."""
LATE = "no time"
ANSWERS = frozenset({"PASS", "FAIL", "ERROR", "NOT-COMPARABLE", "NOT-RUN"})
PLANTED = {
    # The tile is read before the copy engine has filled it.
    "literal": ("descriptor_copy", "    mbarrier.wait(ready, 0)\n", ""),
    # The tile is read while one copy more is under way than the ring has room for.
    "async-copy": ("matmul", "async_copy.wait_group(NUM_BUFFERS - 1)", "async_copy.wait_group(NUM_BUFFERS)"),
    # One of the two tiles of a step is read before its copy has come.
    "tma": ("matmul", "        mbarrier.wait(b_ready, phase)\n", ""),
    "multibuffer": ("matmul", "        mbarrier.wait(b_ready.index(slot), phase)\n", ""),
    # The place of the ring that the dot under way reads is filled again.
    "mma": ("matmul", "dot_awaited(acc, 1)", "dot_awaited(acc, 2)"),
}
"""Per stage, a fixture and what is put in place of a text of its port."""


@dataclass(frozen=True)
class Item:
    """One sanitizer on one stage of a fixture; `planted` is the port with the race of that stage in it."""

    fixture: str
    stage: str
    sanitizer: str
    planted: bool = False

    @property
    def key(self) -> str:
        """Its name in the results."""
        return f"{self.sanitizer} {self.stage} {self.fixture}{' with a race' if self.planted else ''}"


@dataclass(frozen=True)
class Answer:
    """What came of an item: a verdict and a line about it, with the version of Triton."""

    key: str
    triton: str
    verdict: str
    said: str
    seconds: float

    @property
    def good(self) -> bool:
        """Whether it is what is wanted of the item: of a race, that it is found."""
        return self.verdict in (("FAIL",) if self.key.endswith("with a race") else ("PASS", "NOT-RUN"))


def items_of(names: Sequence[str], stages: Sequence[str], sanitizers: Sequence[str]) -> list[Item]:
    """The items, short ones first: by stage, then by the length of what the fixture runs."""
    found = []
    for name in names or sorted(folder.name for folder in FIXTURES.iterdir() if (folder / "expected").is_dir()):
        folder = FIXTURES / name
        size = sum((folder / f"{stem}.py").stat().st_size for stem in (name, f"{name}_case"))
        for stage in stages:
            if (folder / "expected" / f"{stage}.py").is_file():
                found += [(size, Item(name, stage, sanitizer)) for sanitizer in sanitizers]
    return [item for _, item in sorted(found, key=lambda one: one[0])]


def run_item(item: Item, timeout: float, device: str) -> Answer:
    """One item, in a process of a pool; the sanitizer itself has a process of its own and is stopped in time."""
    from tritonport.verify.sanitize import run_sanitizers
    from tritonport.verify.sanitize.tools import SANITIZERS

    start = time.monotonic()
    triton = triton_version()
    chosen = [one for one in SANITIZERS if one.name.lower() == item.sanitizer]
    try:
        with tempfile.TemporaryDirectory() as made:
            port = _planted(item, triton, Path(made)) if item.planted else None
            result = run_sanitizers(_request(item, triton, timeout, port), sanitizers=chosen, device=device)
    except Exception as error:
        return Answer(item.key, triton, "ERROR", f"{type(error).__name__}: {error}", time.monotonic() - start)
    said = result.findings[0].message if result.findings else result.summary
    return Answer(item.key, triton, result.verdict.value, said, time.monotonic() - start)


def _request(item: Item, triton: str, timeout: float, port: str | None = None) -> object:
    from tritonport.verify.request import Request

    folder = FIXTURES / item.fixture
    kernel, case = (str(folder / f"{stem}.py") for stem in (item.fixture, f"{item.fixture}_case"))
    short = ".".join(triton.split(".")[:2])
    return Request("T4", kernel, case, port, short, (TARGET,), timeout=timeout, stage=item.stage)


def _planted(item: Item, triton: str, folder: Path) -> str:
    """The file of the port with the race of its stage in it."""
    from tritonport.verify.request import make_port

    _, right, wrong = PLANTED[item.stage]
    text = make_port(_request(item, triton, 60.0), TARGET).text
    if right not in text:
        raise ValueError(f"the port has no {right.strip()}")
    port = folder / f"{item.fixture}.py"
    port.write_text(text.replace(right, wrong), encoding="utf-8")
    return str(port)


def triton_version() -> str:
    """Of the Triton that the sanitizers run."""
    import triton

    return str(triton.__version__)


class Results:
    """The answers so far, in files that are whole after every one."""

    def __init__(self, folder: Path, before: Iterable[Answer]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.answers = {(one.triton, one.key): one for one in before}

    def add(self, answer: Answer) -> None:
        """Takes an answer and prints it."""
        self.answers[answer.triton, answer.key] = answer
        print(f"{answer.seconds:5.0f} s  {answer.verdict:14} {answer.key:44} {answer.said[:170]}", flush=True)
        self.write()

    def write(self) -> None:
        """Writes both files."""
        answers = sorted(self.answers.values(), key=lambda one: (one.triton, one.key))
        data = json.dumps([asdict(one) for one in answers], indent=1)
        (self._folder / "safety.json").write_text(data + "\n", encoding="utf-8")
        rows = [
            f"| {one.triton} | {one.key} | {one.verdict}{'' if one.good else ' (!)'} | {one.seconds:.0f} | "
            f"{one.said.replace('|', '/')[:300]} |"
            for one in answers
        ]
        head = ["| Triton | sanitizer, stage, fixture | verdict | s | what |", "|---|---|---|---|---|"]
        (self._folder / "safety.md").write_text("\n".join([*head, *rows, "", self.summary(), ""]), encoding="utf-8")

    def summary(self) -> str:
        """How many items came to what."""
        counts: dict[str, int] = {}
        for one in self.answers.values():
            verdict = f"{one.verdict} of a port with a race" if one.key.endswith("with a race") else one.verdict
            counts[verdict] = counts.get(verdict, 0) + 1
        return ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) or "nothing was run"


def _read(folder: Path | None) -> list[Answer]:
    """The answers of a run before, without those that its time was over for."""
    if folder is None:
        return []
    found = [Answer(**one) for one in json.loads((folder / "safety.json").read_text(encoding="utf-8"))]
    return [one for one in found if not one.said.startswith(LATE)]


def run_all(items: Sequence[Item], results: Results, options: argparse.Namespace) -> None:
    """Every item that there is time for; the others are written down as not run."""
    triton, end = triton_version(), time.monotonic() + options.budget
    todo = [item for item in items if (triton, item.key) not in results.answers]
    print(f"Triton {triton}: {len(todo)} items, {len(items) - len(todo)} answered before", flush=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context) as pool:
        futures = [pool.submit(_in_time, item, triton, end - time.monotonic() + time.time(), options) for item in todo]
        for future in as_completed(futures):
            results.add(future.result())


def _in_time(item: Item, triton: str, end: float, options: argparse.Namespace) -> Answer:
    """An item with the time that is left, until `end` by the clock."""
    left = min(options.timeout, end - time.time())
    if left < START:
        return Answer(item.key, triton, "NOT-COMPARABLE", f"{LATE} to run it", 0.0)
    return run_item(item, left, options.device)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="FIXTURE")
    parser.add_argument("--triton", type=Path, help="folder with the package triton")
    parser.add_argument("--sanitizers", default="consan,fpsan")
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="items at once")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for an item")
    parser.add_argument("--budget", type=float, default=540.0, help="seconds for all")
    parser.add_argument("--no-races", action="store_true", help="without the ports that have a race in them")
    parser.add_argument("--again", type=Path, help="folder with the results of a run before")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: to see that the script works")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.triton is not None and os.environ.get("TRITON_TAKEN") != str(options.triton):
        # What a process imports is settled when it starts.
        paths = [str(options.triton.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])]
        taken = {"PYTHONPATH": os.pathsep.join(paths), "TRITON_TAKEN": str(options.triton)}
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **taken})
    sanitizers, stages = options.sanitizers.split(","), options.stages.split(",")
    items = items_of(options.names, stages, sanitizers)
    if "consan" in sanitizers and not options.no_races:
        items = [*(Item(PLANTED[stage][0], stage, "consan", planted=True) for stage in stages), *items]
    results = Results(options.out, _read(options.again))
    run_all(items, results, options)
    results.write()
    print(results.summary(), flush=True)
    return 3 if not results.answers else int(not all(one.good for one in results.answers.values()))


sys.path.insert(0, str(ROOT))
if __name__ == "__main__":
    sys.exit(main())
