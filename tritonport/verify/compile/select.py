"""Which files of the paths on a command line there is something to compile in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tritonport.run.paths import find_inputs
from tritonport.verify.case import find_kernel_files


def find_files(paths: Sequence[str], exclude: Sequence[str], guess_signature: bool) -> list[tuple[Path, str]]:
    """(file, path to show): files as named; below a directory those that have a case, or all that hold a kernel.

    Cases and golden outputs (``expected``) are never found in a directory.
    """
    found = []
    for one in find_inputs(paths, exclude):
        if not one.explicit:
            if "expected" in one.relative.parts or one.file.stem.endswith("_case"):
                continue
            if guess_signature and b"jit" not in one.file.read_bytes():
                continue
        found.append((one.file, one.path))
    if guess_signature:
        return found
    with_case = {file.resolve() for path in paths if Path(path).is_dir() for file in find_kernel_files(Path(path))}
    named = {Path(path).resolve() for path in paths}
    return [(file, path) for file, path in found if file.resolve() in with_case | named]
