"""Files that commands write beside their output."""

from __future__ import annotations

import os
from pathlib import Path

import click


def write_whole(file: Path, text: str) -> None:
    """Writes a file whole or not at all; a click.FileError (exit code 1) says why it could not."""
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(file)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise click.FileError(str(file), str(error)) from error
