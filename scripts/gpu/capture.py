"""Record the launches of real training steps and replay them: `python scripts/gpu/capture.py --out RESULTS`.

    --liger FOLDER   holds the package liger_kernel: RMSNorm, SwiGLU and cross-entropy, forward and backward
    --fla FOLDER     holds the package fla of fla-core: gated linear attention of its parts, forward and backward
    --cases FOLDER   takes the cases; else they are thrown away

Each step runs under `tritonport capture`, on the GPU where there is one, else in the emulator with small shapes; the
cases are then checked by `tritonport parity-check`. The steps run beside one another. RESULTS gets the reports,
`capture.md` with a line for each launch, and `capture.log` with what the programs wrote.

Exit codes: 0 every launch replays; 1 some do not; 3 nothing was recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STEPS = Path(__file__).resolve().parent / "captured"
LIGER = ("rms_norm", "swiglu", "cross_entropy")
_RECORDED = re.compile(r"^ {8}kernel=\"(\w+)\",$", re.MULTILINE)
"""A launch in a case that `capture` wrote."""


@dataclass
class Step:
    """What came of one training step.

    Attributes:
        rows: a line of the table for each recorded launch.
        code: 0 where all replay, 1 where some do not, 3 where none was recorded.
        log: what the programs wrote.
    """

    rows: list[str] = field(default_factory=list)
    code: int = 0
    log: str = ""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--liger", type=Path)
    parser.add_argument("--fla", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--tiers", default=None, help="of parity-check; T3 with a GPU, else T2")
    parser.add_argument("--budget", type=float, default=540.0, help="seconds for all")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.end = time.monotonic() + arguments.budget
    work: list[tuple[str, Path, list[Path]]] = []
    if arguments.liger is not None:
        files = [arguments.liger / "liger_kernel" / "ops" / f"{name}.py" for name in LIGER]
        work.append(("liger", arguments.liger, files))
    if arguments.fla is not None:
        # Without files every kernel of the package is recorded: it is in no installed one here.
        work.append(("fla", arguments.fla, []))
    with tempfile.TemporaryDirectory() as made:
        cases = arguments.cases or Path(made)
        with ThreadPoolExecutor(max(len(work), 1)) as pool:
            steps = list(pool.map(lambda one: _step(*one, cases / one[0], arguments), work))
    head = ["| step | kernel file | launch | kernel | verdict | what |", "|---|---|---|---|---|---|"]
    table = "\n".join([*head, *(row for step in steps for row in step.rows)]) + "\n"
    (arguments.out / "capture.md").write_text(table, encoding="utf-8")
    (arguments.out / "capture.log").write_text("\n".join(step.log for step in steps), encoding="utf-8")
    print(table)
    return max((step.code for step in steps), default=3)


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _step(name: str, folder: Path, files: Sequence[Path], cases: Path, arguments: argparse.Namespace) -> Step:
    """Records one step and replays it."""
    step = Step()
    half = (arguments.end - time.monotonic()) / 2
    words = ("capture", *map(str, files), "-o", str(cases), "--", "python", str(STEPS / f"{name}_step.py"))
    code, written = _run(folder, half, *words)
    step.log += f"# {name}: capture\n{written}\n"
    if code != 0 or not list(cases.glob("*_case.py")):
        step.rows.append(f"| {name} | | | | NOT RECORDED | {_ended(code)}: {_last_line(written)} |")
        step.code = 3
        return step
    report = arguments.out / f"{name}.json"
    tiers = arguments.tiers or ("T3" if _has_gpu() else "T2")
    left = arguments.end - time.monotonic()
    options = ("--tiers", tiers, "--timeout", str(max(left - 20, 10)), "--report", str(report), "-j", "4")
    code, written = _run(folder, left, "parity-check", str(cases), *options)
    step.log += f"# {name}: parity-check\n{written}\n"
    step.code = 0 if code == 0 else 1
    if not report.is_file():
        step.rows.append(f"| {name} | | | | NOT REPLAYED | {_ended(code)}: {_last_line(written)} |")
        return step
    for file in json.loads(report.read_text(encoding="utf-8"))["files"]:
        step.rows += _launches(name, file)
    return step


def _launches(step: str, file: dict[str, Any]) -> Iterator[str]:
    """A line for each launch of a case; its runs are the case's variants, in the order of the case."""
    tier = file["tiers"][-1]
    runs = {run["variant"]: run for run in tier.get("runs", ())}
    kernels = _RECORDED.findall(Path(file["case"]).read_text(encoding="utf-8"))
    for number, kernel in enumerate(kernels):
        run = runs.get(number)
        verdict = run["verdict"] if run else f"NOT REPLAYED ({file['verdict']})"
        said = f"{run['compared']} results" if run else tier["summary"]
        if run:
            said += "".join(f"; {one['name']}: {one.get('text', one)}" for one in run["differences"][:1])
        yield f"| {step} | {Path(file['path']).name} | {number} | {kernel} | {verdict} | {_cell(said)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")[:300]


def _last_line(written: str) -> str:
    return _cell((written.strip().splitlines() or [""])[-1])


def _ended(code: int | None) -> str:
    return "stopped, out of time" if code is None else f"exit status {code}"


def _run(folder: Path, timeout: float, *words: str) -> tuple[int | None, str]:
    """The exit status of a command of tritonport, None where its time was over, and what it wrote."""
    # The stubs last: what is installed comes before them.
    paths = [str(ROOT), str(folder), *filter(None, [os.environ.get("PYTHONPATH")]), str(STEPS / "stubs")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "tritonport", *words]
    with tempfile.TemporaryFile() as output:
        try:
            code: int | None = subprocess.run(
                command, env=environment, stdout=output, stderr=subprocess.STDOUT, timeout=timeout, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
        output.seek(0)
        return code, output.read().decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
