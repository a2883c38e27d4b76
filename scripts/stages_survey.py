"""How far the stages take the kernels that people use, package by package, and which of them come less far than before.

    python scripts/stages_survey.py NAME=DIRECTORY ... -j 2 --json FILE [--against OLDER_FILE]

Every file with a dot goes through `upgrade --stage all`. For each kernel it counts the descriptors that its launches
ask for, the rings of tiles and the dots that stay under way; for each file the names that the output uses before they
are defined (ruff's F821), where the original does not. `--against` compares with the figures of another run: kernels
that have fewer of something are printed. A mend of one proof once took the descriptors from every kernel of a package,
and every test was green.

Exit codes: 0 nothing is lost, 1 something is, or an output is broken.
"""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tritonport.convert import ConvertOptions  # noqa: E402
from tritonport.report import Selection  # noqa: E402
from tritonport.run.convert_file import ConvertTask, convert_file  # noqa: E402
from tritonport.run.progress import ProgressLine  # noqa: E402
from tritonport.source.module import SourceModule  # noqa: E402
from tritonport.source.paths import InputFile, find_inputs  # noqa: E402

KINDS = ("descriptors", "rings", "dots under way")
_FORM = r"(?:_(?:tiles|pointers)(?:_\d+)?)?"


@dataclass
class FileFigures:
    """What came of one file.

    Attributes:
        kernels: per kernel how many there are of each kind.
        codes: how often each diagnostic was given.
        broken: why the output cannot be used: an internal error, a time limit, names that are not defined.
    """

    path: str
    seconds: float = 0.0
    kernels: dict[str, dict[str, int]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def figures_of(text: str, kernels: list[str]) -> dict[str, dict[str, int]]:
    """Per kernel of a file how many descriptors, rings and dots under way its upgraded text has."""
    found = {name: dict.fromkeys(KINDS, 0) for name in kernels}
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        owners = [name for name in kernels if re.fullmatch(re.escape(name) + _FORM, function.name)]
        for kind in _kinds(function) if owners else ():
            found[max(owners, key=len)][kind] += 1
    return found


def _kinds(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if re.fullmatch(r"\w+_ring(_\d+)?", node.targets[0].id):
                yield "rings"
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if re.fullmatch(r"tile_descriptor(_\d+)?|make_tensor_descriptor", name):
                yield "descriptors"
            elif re.fullmatch(r"dot(_\w+)?_started(_\d+)?", name):
                yield "dots under way"


def undefined(text: str) -> Counter[str]:
    """The names that a module uses and does not define, or defines further down than its own statements need."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821", "--output-format=json", "-"]
    answer = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return Counter(re.findall(r"`(.*)`", " ".join(one["message"] for one in json.loads(answer.stdout))))


def _ring(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError


def surveyed(item: tuple[InputFile, str, str, int]) -> FileFigures:
    """One file, through all of its stages."""
    one, target, version, limit = item
    found, start = FileFigures(one.path), time.monotonic()
    options = ConvertOptions(triton=version, target=target, stage="all")
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(limit)
    try:
        result = convert_file(ConvertTask(one.path, options, Selection(), file=one.file, explicit=False))
    finally:
        signal.alarm(0)
        found.seconds = round(time.monotonic() - start, 2)
    source = result.source.text if result.source is not None else ""
    found.codes = dict(sorted(Counter(str(one.code) for one in result.report.diagnostics).items()))
    if result.traceback is not None:
        timed_out = result.traceback.rstrip().endswith("TimeoutError")
        found.broken.append(f"takes more than {limit} s" if timed_out else result.traceback.strip().splitlines()[-1])
    if result.text is not None:
        names = [kernel.name for kernel in SourceModule(source, one.path).kernels]
        found.kernels = figures_of(result.text, names)
        lost = undefined(result.text) - undefined(source)
        found.broken += [f"uses {name} before it is defined" for name in sorted(lost)]
    return found


def less(now: Mapping[str, FileFigures], before: Mapping[str, FileFigures]) -> list[str]:
    """What each kernel has fewer of than it had; files and kernels that are not in both are left out."""
    lines = []
    for path in sorted(now.keys() & before.keys()):
        for kernel in sorted(now[path].kernels.keys() & before[path].kernels.keys()):
            new, old = now[path].kernels[kernel], before[path].kernels[kernel]
            lines += [f"{path} {kernel}: {kind} {old[kind]} -> {new[kind]}" for kind in KINDS if new[kind] < old[kind]]
    return lines


def table(found: Mapping[str, list[FileFigures]]) -> str:
    """A row for each package, as Markdown."""
    lines = ["| package | files | kernels | with descriptors | with rings | with dots under way | broken | seconds |"]
    lines.append("|---" * 8 + "|")
    for name, files in found.items():
        kernels = [one for item in files for one in item.kernels.values()]
        counts = [sum(one[kind] > 0 for one in kernels) for kind in KINDS]
        broken = sum(bool(one.broken) for one in files)
        cells = [name, len(files), len(kernels), *counts, broken, f"{sum(one.seconds for one in files):.0f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


@click.command()
@click.argument("packages", nargs=-1, required=True)
@click.option("--exclude", multiple=True, help="Glob of files and directories to leave out; repeatable.")
@click.option("--target", default="sm_90", show_default=True)
@click.option("--triton", "version", default="3.9", show_default=True, help="Version to write for.")
@click.option("-j", "--jobs", default=2, show_default=True)
@click.option("--timeout", default=300, show_default=True, help="Seconds for one file.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the figures of every kernel here.")
@click.option(
    "--against", type=click.Path(path_type=Path, exists=True), help="Compare with the figures of another run."
)
def main(
    packages: tuple[str, ...],
    exclude: tuple[str, ...],
    target: str,
    version: str,
    jobs: int,
    timeout: int,
    json_file: Path | None,
    against: Path | None,
) -> None:
    """Survey PACKAGES, each NAME=DIRECTORY; figures are kept by NAME and path below DIRECTORY."""
    progress = ProgressLine(quiet=False)
    found: dict[str, list[FileFigures]] = {}
    for name, _, directory in (one.rpartition("=") for one in packages):
        inputs = [one for one in find_inputs([directory], exclude) if b".dot(" in one.file.read_bytes()]
        found[name] = []
        with ProcessPoolExecutor(max_workers=jobs) as pool:
            for one in pool.map(surveyed, [(item, target, version, timeout) for item in inputs]):
                one.path = f"{name}/{Path(one.path).relative_to(directory).as_posix()}"
                found[name].append(one)
                progress(len(found[name]), len(inputs), one.path)
    progress.clear()
    print(table(found))
    files = {one.path: one for several in found.values() for one in several}
    faults = [f"{one.path}: {why}" for one in files.values() for why in one.broken]
    if against is not None:
        before = {one["path"]: FileFigures(**one) for one in json.loads(against.read_text(encoding="utf-8"))}
        faults += less(files, before)
    print("\n".join(faults))
    if json_file is not None:
        made = [asdict(one) for one in files.values()]
        json_file.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
