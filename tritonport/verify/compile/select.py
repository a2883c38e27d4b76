"""Which files of the paths on a command line there is something to compile in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tritonport.report import InputError
from tritonport.source.paths import find_inputs
from tritonport.verify.case import find_case


def find_files(paths: Sequence[str], exclude: Sequence[str], guess_signature: bool) -> list[tuple[Path, str]]:
    """(file, path to show): files as named; below a directory those that have a case, or all that hold a kernel.

    Cases and golden outputs (``expected``) are never found in a directory.
    """
    return [
        (one.file, one.path)
        for one in find_inputs(paths, exclude)
        if one.explicit or _matters(one.file, one.relative, guess_signature)
    ]


def _matters(file: Path, relative: Path, guess_signature: bool) -> bool:
    if "expected" in relative.parts or file.stem.endswith("_case") or b"jit" not in file.read_bytes():
        return False
    if guess_signature:
        return True
    try:
        find_case(file, None)
    except InputError:
        return False
    return True
