"""Running a command with the hook in place, and reading what its processes wrote down."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tritonport
from tritonport.verify.hook.settings import VARIABLE, Settings
from tritonport.verify.processes import run_to_end

_PLUGIN = "tritonport.verify.hook.pytest_plugin"
_START = "from tritonport.verify.hook.startup import start\n\nstart({folder!r})\n"


@dataclass(frozen=True)
class CommandRun:
    """How a command ended.

    Attributes:
        code: its exit status; None where it was stopped, or a signal's number below zero.
        timed_out: whether the time limit stopped it.
        output: what it wrote to stdout and stderr.
        tests: the records of the pytest plugin, in the order of each process.
        launches: the launches of every process: kernel, file, gluon, count.
        seconds: wall time.
    """

    code: int | None
    timed_out: bool
    output: str
    tests: tuple[dict[str, Any], ...]
    launches: tuple[dict[str, Any], ...]
    seconds: float

    def last_lines(self, count: int) -> list[str]:
        """The end of the output, without what Triton's bindings say of their own leaks when the process exits."""
        lines = self.output.strip().partition("nanobind: leaked ")[0].strip().splitlines()
        return lines[-count:]


def interpreted(command: Sequence[str]) -> list[str]:
    """The command in this interpreter, where it names Python, pytest or a script without saying which Python."""
    first, *rest = command
    name = Path(first).name
    if first == name and (name in ("python", "python3") or name == f"python3.{sys.version_info.minor}"):
        return [sys.executable, *rest]
    if first == name and name in ("pytest", "py.test"):
        return [sys.executable, "-m", "pytest", *rest]
    if name.endswith(".py"):
        return [sys.executable, *command]
    return list(command)


def run_command(
    command: Sequence[str], settings: Settings, work: Path, timeout: float, variables: Mapping[str, str] | None = None
) -> CommandRun:
    """Runs a command to its end.

    Args:
        settings: for its processes; their folder must exist.
        work: an empty folder for the start-up module and the log.
        timeout: seconds, after which it and everything that it started is killed.
        variables: more for its environment.

    Raises OSError where the command cannot be started.
    """
    environment = _environment(settings, work) | dict(variables or {})
    ended = run_to_end(interpreted(command), environment, work / "output", timeout)
    return CommandRun(
        code=ended.code,
        timed_out=ended.timed_out,
        output=ended.output,
        tests=tuple(read_records(settings, "tests")),
        launches=tuple(one for record in read_records(settings, "launches") for one in record["launches"]),
        seconds=ended.seconds,
    )


def fresh(settings: Settings, folder: Path) -> Settings:
    """The same settings with an empty folder for the records."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return replace(settings, folder=str(folder))


def _environment(settings: Settings, work: Path) -> dict[str, str]:
    (work / "sitecustomize.py").write_text(_START.format(folder=str(work)), encoding="utf-8")
    file = work / "settings.json"
    settings.write(file)
    # Under TRITON_INTERPRET a jitted function is none.
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    here = str(Path(tritonport.__file__).resolve().parents[1])
    paths = [str(work), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)), here]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    environment["PYTEST_PLUGINS"] = ",".join(filter(None, (_PLUGIN, environment.get("PYTEST_PLUGINS", ""))))
    # Modules that were compiled with other texts are of no use, and are not to be left behind.
    environment |= {VARIABLE: str(file), "PYTHONDONTWRITEBYTECODE": "1"}
    return environment


def read_records(settings: Settings, kind: str) -> Iterator[dict[str, Any]]:
    """What the processes of a command wrote down of a kind, process by process."""
    for file in sorted(Path(settings.folder).glob(f"{kind}-*.jsonl"), key=lambda path: path.stat().st_mtime):
        for line in file.read_text(encoding="utf-8").splitlines():
            # The last line of a process that was killed may be half a line.
            with contextlib.suppress(ValueError):
                yield json.loads(line)
