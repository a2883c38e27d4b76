"""Files to run the command line on, and ways to run it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tritonport.cli import cli

HEADER = """\
import triton
import triton.language as tl

"""
SCALE = """
# Twice the input.
@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, 2.0 * tl.load(x_ptr + offsets, mask=mask), mask=mask)
"""
# Calls what nothing defines, so it can never be converted.
LEFT = """
@triton.jit
def left_kernel(x_ptr, N: tl.constexpr):
    r = tl.arange(0, N)
    x = tl.load(x_ptr + r)
    tl.store(x_ptr + r, activation(x))
"""
SCALE_FILE = HEADER + SCALE
LEFT_FILE = HEADER + LEFT
MIXED_FILE = HEADER + SCALE + "\n" + LEFT
PLAIN_FILE = "import math\n\nprint(math.pi)\n"
BROKEN_FILE = "import triton\n\n@triton.jit\ndef kernel(x_ptr, n\n    pass\n"

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """The command line in this process: `run("convert", path, stdin="...")`."""

    def invoke(*args: object, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)

    return invoke


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty directory that is also the current one, so that messages have short paths."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def spawn(*args: object, cwd: Path | None = None, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "tritonport", *(str(arg) for arg in args)]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False)
