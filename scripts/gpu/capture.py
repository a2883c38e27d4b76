"""Record the launches of real training steps and replay them: `python scripts/gpu/capture.py --out RESULTS`.

    --liger FOLDER   holds the package liger_kernel: RMSNorm, SwiGLU and cross-entropy, forward and backward
    --fla FOLDER     holds the package fla of fla-core: gated linear attention of its parts, forward and backward

Each step runs under `tritonport capture`, on the GPU where there is one, else in the emulator with small shapes; the
cases are then checked by `tritonport parity-check`. RESULTS gets the cases, the reports and `capture.md`, a table.

Exit codes: 0 every kernel's launches replay; 1 some do not; 3 nothing was recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEPS = Path(__file__).resolve().parent / "captured"
LIGER = ("rms_norm", "swiglu", "cross_entropy")
TIMEOUT = 540.0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--liger", type=Path)
    parser.add_argument("--fla", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tiers", default=None, help="of parity-check; T3 with a GPU, else T2")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[str] = []
    codes = []
    if arguments.liger is not None:
        files = [arguments.liger / "liger_kernel" / "ops" / f"{name}.py" for name in LIGER]
        codes.append(_step("liger", arguments.liger, files, arguments, rows))
    if arguments.fla is not None:
        # Without files every kernel of the package is recorded: it is in no installed one here.
        codes.append(_step("fla", arguments.fla, [], arguments, rows))
    table = "\n".join(["| step | kernel file | launches | verdict | what |", "|---|---|---|---|---|", *rows]) + "\n"
    (arguments.out / "capture.md").write_text(table, encoding="utf-8")
    print(table)
    return max(codes, default=3)


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _step(name: str, folder: Path, files: Sequence[Path], arguments: argparse.Namespace, rows: list[str]) -> int:
    """Records one step and replays it; adds a row for each kernel file."""
    cases = arguments.out / name
    capture = _run(
        folder, "capture", *map(str, files), "-o", str(cases), "--", "python", str(STEPS / f"{name}_step.py")
    )
    print(capture.stdout + capture.stderr, flush=True)
    if capture.returncode:
        rows.append(f"| {name} | | 0 | NOT RECORDED | exit status {capture.returncode} |")
        return 3
    report = arguments.out / f"{name}.json"
    tiers = arguments.tiers or ("T3" if _has_gpu() else "T2")
    options = ("--tiers", tiers, "--timeout", "300", "--report", str(report), "-j", "2")
    checked = _run(folder, "parity-check", str(cases), *options)
    print(checked.stdout + checked.stderr, flush=True)
    if not report.is_file():
        rows.append(f"| {name} | | | NOT REPLAYED | exit status {checked.returncode} |")
        return 1
    for file in json.loads(report.read_text(encoding="utf-8"))["files"]:
        tier = file["tiers"][-1]
        launches = len(tier.get("runs", ()))
        rows.append(f"| {name} | {Path(file['path']).name} | {launches} | {file['verdict']} | {tier['summary']} |")
    return 0 if checked.returncode == 0 else 1


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # The stubs last: what is installed comes before them.
    paths = [str(ROOT), str(folder), *filter(None, [os.environ.get("PYTHONPATH")]), str(STEPS / "stubs")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "tritonport", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)


if __name__ == "__main__":
    sys.exit(main())
