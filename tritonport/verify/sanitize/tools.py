"""The sanitizers: what each needs, how it is switched on, and what it is run on."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Version = tuple[int, int]

MODE = "TRITON_INSTRUMENTATION_MODE"
"""The environment variable that Triton reads, once, when it is imported."""
_PROGRAM_FOLDERS = ("CUDA_HOME", "CUDA_PATH")
"""Environment variables that name a CUDA toolkit, whose `bin` need not be on the PATH."""
_TOOLKIT = Path("/usr/local/cuda")


@dataclass(frozen=True)
class Sanitizer:
    """One sanitizer.

    Attributes:
        name: as it is reported.
        environment: what switches it on, for a process that has not imported Triton yet.
        since: the first version of Triton that has it; None where Triton has no part in it.
        program: the program, with its options, that the process runs under; empty for none.
        compares: whether it is a way to compare: original and port both run, and must agree bit for bit.
        deadlocks_since: the first version of Triton whose reports of deadlocks are to be believed.
    """

    name: str
    environment: Mapping[str, str]
    since: Version | None = None
    program: tuple[str, ...] = ()
    compares: bool = False
    deadlocks_since: Version | None = field(default=None)

    def missing(self, triton: str) -> str | None:
        """Why it cannot run with a version of Triton (`3.6.0`); None where it can."""
        if self.since is not None and version_of(triton) < self.since:
            return f"needs Triton {'.'.join(map(str, self.since))} or newer, {triton} is installed"
        if self.program and find_program(self.program[0]) is None:
            return f"{self.program[0]} is not installed"
        return None


CONSAN = Sanitizer(
    "ConSan",
    # A launch that fails is to fail in its own call.
    {MODE: "consan", "CUDA_LAUNCH_BLOCKING": "1"},
    since=(3, 6),
    # Before, it does not see what an `expect` announces, and takes two copies on one barrier for a deadlock.
    deadlocks_since=(3, 8),
)
FPSAN = Sanitizer("FpSan", {MODE: "fpsan"}, since=(3, 8), compares=True)
MEMCHECK = Sanitizer(
    "memcheck",
    # Else tensors are parts of larger allocations, and what is outside of one is inside of another.
    {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    program=(
        "compute-sanitizer",
        "--tool=memcheck",
        "--target-processes=all",
        # torch asks the driver questions whose answer is an error.
        "--report-api-errors=no",
    ),
)
SANITIZERS = (CONSAN, FPSAN, MEMCHECK)


def version_of(text: str) -> Version:
    """The major and the minor number of a version such as `3.9.0+git`."""
    numbers = re.findall(r"\d+", text)
    return int(numbers[0]), int(numbers[1])


def find_program(name: str) -> str | None:
    """Where a program of the CUDA toolkit is: on the PATH, or in a toolkit; None where it is not."""
    found = shutil.which(name)
    homes = [Path(os.environ[variable]) for variable in _PROGRAM_FOLDERS if os.environ.get(variable)]
    for home in (*homes, _TOOLKIT):
        found = found or shutil.which(name, path=str(home / "bin"))
    return found
