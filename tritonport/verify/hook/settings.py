"""What the processes of a command are told: a JSON file that an environment variable names."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

VARIABLE = "TRITONPORT_HOOK"
"""The environment variable that names the file of the settings."""


@dataclass(frozen=True)
class Capture:
    """Which launches are written down as cases, and how.

    Attributes:
        files: real paths of the kernel files; empty: every kernel that lies in no installed package.
        small: bytes up to which the contents of a tensor are kept.
    """

    files: tuple[str, ...] = ()
    small: int = 1 << 16


@dataclass(frozen=True)
class Settings:
    """What is done in every process of a command.

    Attributes:
        folder: where the processes write what happened, each into files of its own.
        ports: the real path of each kernel file, with the file that holds the text to run in its place.
        target: the GPU that the emulator plays; None leaves launches to the GPU.
        time_limit: seconds for one emulated launch.
        capture: what to record of the launches; None counts them only.
    """

    folder: str
    ports: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    time_limit: float = 60.0
    capture: Capture | None = None

    def write(self, file: Path) -> None:
        """Writes the settings for `read_settings`."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    def records(self, kind: str) -> Path:
        """The file into which this process writes its records of a kind: one JSON value to a line."""
        return Path(self.folder, f"{kind}-{os.getpid()}.jsonl")

    def record(self, kind: str, record: Mapping[str, Any]) -> None:
        """Appends one record; a process that is killed leaves those before it."""
        with self.records(kind).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")


def read_settings() -> Settings | None:
    """The settings of this process; None where it belongs to no command."""
    file = os.environ.get(VARIABLE)
    if file is None:
        return None
    data = json.loads(Path(file).read_text(encoding="utf-8"))
    capture = data.pop("capture")
    if capture is not None:
        capture = Capture(tuple(capture["files"]), capture["small"])
    return Settings(**data, capture=capture)
