"""`[tool.tritonport]` of pyproject.toml. Flags on the command line win over it."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonport.report import FORMATS, Diagnostic, InputError, make_selection
from tritonport.rules_data import TRITON_VERSIONS, load_targets, version_key

_UNKNOWN_TARGET = "TP010"
_TABLE = re.compile(r"^[ \t]*\[\s*tool\s*\.\s*[\"']?tritonport(?![\w-])", re.MULTILINE)
"""Also where the bracket is not closed: what is meant for us is not passed over in silence."""
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")
"""The end of what `tomllib` says."""


@dataclass(frozen=True)
class Config:
    """The settings of a project; None where it sets none.

    Attributes:
        target: the architecture, `sm_90`.
        triton: the Triton version of the output, `3.9`.
        select, ignore: codes, prefixes or names of diagnostics.
        exclude: patterns of files and directories to pass over in a walk.
        output_format: one of `report.FORMATS`.
        jobs: processes at work at once.
    """

    target: str | None = None
    triton: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    output_format: str | None = None
    jobs: int | None = None


def normalize_target(target: str) -> str:
    """A known target by its name (`sm_90`, also `sm90` and `sm_90a`); raises ValueError that names the known ones."""
    match = re.fullmatch(r"(?:sm_?|cuda:)(\d+)[af]?", target)
    name = f"sm_{match[1]}" if match else target
    known = load_targets()
    if name in known:
        return name
    message = f"{_UNKNOWN_TARGET} unknown target {target!r}; known: {', '.join(known)}."
    if match:
        older = [facts for facts in known.values() if facts.capability <= int(match[1])]
        if older:
            message += f" The nearest older is {older[-1].name!r}."
    raise ValueError(message)


def normalize_triton(version: str) -> str:
    """A Triton version as the table of names writes it: `3.9.0` as `3.9`; raises ValueError for an unknown one."""
    try:
        name = "{}.{}".format(*version_key(version))
    except ValueError:
        name = version
    if name not in TRITON_VERSIONS:
        raise ValueError(f"unknown Triton version {version!r}; known: {', '.join(TRITON_VERSIONS)}")
    return name


def installed_triton() -> str | None:
    """The version of the Triton that is installed, without importing it; None where there is none."""
    # importlib.metadata does the same and takes as long to import as converting a small file.
    for folder in sys.path:
        for info in Path(folder or ".").glob("triton-*.dist-info"):
            return info.name.removeprefix("triton-").removesuffix(".dist-info")
    return None


def default_triton() -> str:
    """The version to write for where the user names none: the installed one, the nearest known one, or the newest."""
    installed = installed_triton()
    if installed is None:
        return TRITON_VERSIONS[-1]
    wanted = version_key(installed)
    return min(TRITON_VERSIONS, key=lambda known: _distance(version_key(known), wanted))


def _distance(one: tuple[int, int], other: tuple[int, int]) -> int:
    return abs((one[0] - other[0]) * 1000 + one[1] - other[1])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def _codes(value: object) -> tuple[str, ...]:
    codes = _strings(value)
    make_selection(codes)
    return codes


def _format(value: object) -> str:
    if value not in FORMATS:
        raise ValueError(f"must be one of {', '.join(FORMATS)}")
    return str(value)


def _jobs(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("must be a number of processes, 0 for one per core")
    return value


_KEYS: Mapping[str, Callable[[object], Any]] = {
    "target": lambda value: normalize_target(_text(value)),
    "triton": lambda value: normalize_triton(_text(value)),
    "select": _codes,
    "ignore": _codes,
    "exclude": _strings,
    "output-format": _format,
    "jobs": _jobs,
}
CONFIG_KEYS = tuple(_KEYS)
"""The keys of `[tool.tritonport]`."""


def find_config(start: Path) -> Path | None:
    """The pyproject.toml with a `[tool.tritonport]` that is nearest to a file or directory, upwards."""
    here = start.resolve()
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        try:
            if file.is_file() and _TABLE.search(file.read_text(encoding="utf-8")):
                return file
        except (OSError, UnicodeDecodeError):
            continue  # someone else's file, further up
    return None


def load_config(start: Path) -> Config:
    """The settings that hold for a file or directory. Raises InputErrors (TP005) with the lines of all wrong keys."""
    file = find_config(start)
    if file is None:
        return Config()
    text = file.read_text(encoding="utf-8")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(text).get("tool", {}).get("tritonport", {})
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(file, text, str(error)) from None
    values: dict[str, Any] = {}
    wrong: list[Diagnostic] = []
    for key, value in table.items():
        if key not in _KEYS:
            from difflib import get_close_matches

            near = get_close_matches(key, _KEYS, n=1, cutoff=0.0)
            wrong.append(_invalid(file, text, key, f"unknown key {key!r}; did you mean {near[0]!r}?"))
            continue
        try:
            values[key.replace("-", "_")] = _KEYS[key](value)
        except ValueError as error:
            wrong.append(_invalid(file, text, key, f"{key}: {error}"))
    if wrong:
        raise InputError(*sorted(wrong, key=lambda found: found.sort_key))
    return Config(**values)


def _not_toml(file: Path, text: str, problem: str) -> InputError:
    """At the place where the text stops being TOML: the end of the file, where that is all that is said."""
    place = _PLACE.search(problem)
    line, column = (int(place[1]), int(place[2])) if place else (max(len(text.splitlines()), 1), 1)
    message = f"not valid TOML: {_PLACE.sub('', problem).rstrip()}"
    return InputError(Diagnostic("TP005", message, str(file), line, column))


def _invalid(file: Path, text: str, key: str, message: str) -> Diagnostic:
    line = 1
    if table := _TABLE.search(text):
        place = re.compile(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", re.MULTILINE).search(text, table.start())
        line = text.count("\n", 0, place.end() if place else table.end()) + 1
    return Diagnostic("TP005", message, str(file), line, 1)
