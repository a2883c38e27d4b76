"""Running a command and keeping what its kernels were launched with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.capture.write import WrittenCase, write_cases
from tritonport.verify.hook.command import CommandRun, read_records, run_command
from tritonport.verify.hook.settings import Capture, Settings

DEFAULT_TIMEOUT = 3600.0


@dataclass(frozen=True)
class CaptureResult:
    """What a run left.

    Attributes:
        run: how the command ended.
        cases: what was written.
        skipped: launches that a case cannot hold: the file, the kernel and the reason.
    """

    run: CommandRun
    cases: tuple[WrittenCase, ...]
    skipped: tuple[tuple[str, str, str], ...]


def capture_command(
    files: Sequence[str],
    command: Sequence[str],
    output: Path,
    *,
    target: str | None,
    small: int,
    limit: int,
    timeout: float = DEFAULT_TIMEOUT,
) -> CaptureResult:
    """Runs a command and writes the launches of the kernels of these files (none: of all that are not installed).

    Args:
        target: the GPU that the emulator plays; None: a real one is there.
        small: bytes up to which contents are kept.
        limit: launches of one kernel at most.

    Raises InputError where a file does not exist or the command cannot be started.
    """
    for file in files:
        if not Path(file).is_file():
            raise InputError(Diagnostic(codes.UNREADABLE, "there is no such file", file, 1, 1))
    with tempfile.TemporaryDirectory(prefix="tritonport-") as name:
        folder = Path(name)
        (folder / "records").mkdir()
        (folder / "work").mkdir()
        wanted = Capture(tuple(os.path.realpath(file) for file in files), small)
        settings = Settings(str(folder / "records"), {}, target, timeout, wanted)
        try:
            run = run_command(command, settings, folder / "work", timeout)
        except OSError as error:
            message = f"cannot run {command[0]}: {error.strerror or error}"
            raise InputError(Diagnostic(codes.UNREADABLE, message, command[0], 1, 1)) from error
        records = list(read_records(settings, "capture"))
        cases = write_cases(records, folder / "records", output, limit)
    skipped = {(one["file"], one["kernel"], one["skipped"]): None for one in records if "skipped" in one}
    return CaptureResult(run, tuple(cases), tuple(skipped))
