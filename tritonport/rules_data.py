"""The data of `rules/`: where it lies, the table of API names, the pages of the diagnostics, the targets.

`rules/` stands at the root of a checkout and is shipped inside the wheel as `tritonport/rules`. Everything here is read
once and kept: the whole table takes a few milliseconds, one page well under one.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

TRITON_VERSIONS = ("3.6", "3.7", "3.8", "3.9")
"""The Triton versions whose names the table knows, oldest first."""

STATUSES: Mapping[str, str] = MappingProxyType(
    {
        "same": "the same call under its Gluon name",
        "layout": "the same call with one more argument, the layout of the result",
        "tl": "the triton.language call itself works inside a Gluon kernel and stays",
        "recipe": "rewritten by a recipe",
        "next": "not converted by this version: a kernel that uses it is left as it is",
        "none": "Gluon has no equivalent",
    }
)
SEVERITIES = ("error", "warning", "info")
EFFORTS = ("none", "low", "medium", "high")

_CODE = re.compile(r"TP\d{3}")


@cache
def rules_dir() -> Path:
    """The folder of the rules: inside the package (an installed wheel), else beside it (a checkout).

    Raises FileNotFoundError where neither exists: the installation is broken.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / "rules", package.parent / "rules"):
        if (candidate / "api.json").is_file():
            return candidate
    raise FileNotFoundError(f"the rules of tritonport are neither in {package} nor beside it; install it again")


def version_key(version: str) -> tuple[int, int]:
    """`"3.9"` or `"3.9.0+git"` as `(3, 9)`; raises ValueError for anything else."""
    match = re.match(r"(\d+)\.(\d+)", version)
    if match is None:
        raise ValueError(f"not a version: {version!r}")
    return int(match[1]), int(match[2])


def _at(steps: tuple[tuple[str, str], ...], triton: str) -> str | None:
    """The value of the last step that starts at or before a version; None before the first."""
    wanted = version_key(triton)
    found = None
    for since, value in steps:
        if version_key(since) <= wanted:
            found = value
    return found


@dataclass(frozen=True)
class ApiEntry:
    """One name of `triton.language` and what becomes of it.

    Attributes:
        name: as the documentation of this project writes it: `tl.load`, `tensor.to`, `descriptor.load`.
        kind: `function`, `method`, `type`, `module` or `constant`.
        status: a key of `STATUSES`.
        targets: `(since, name)` steps: the name to write, from that Triton version on (`gl.barrier`, `tl.clamp`).
        recipe: for status `recipe`: the family that rewrites it.
        methods: the methods of a tensor that mean the same operation (`sum` for `tl.sum`).
        aliases: other names of the same thing (`tl.math.exp` for `tl.exp`).
        elementwise: the operands meet in one layout and shape, and the result has that layout.
        signatures: `(since, text)` steps: the parameters without `_semantic` and `_generator`, as Python writes them.
        since, until: the first and last Triton version (of `TRITON_VERSIONS`) that has the name.
        note: what a person porting by hand must know.
    """

    name: str
    kind: str
    status: str
    targets: tuple[tuple[str, str], ...] = ()
    recipe: str | None = None
    methods: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    elementwise: bool = False
    signatures: tuple[tuple[str, str], ...] = ()
    since: str = TRITON_VERSIONS[0]
    until: str = TRITON_VERSIONS[-1]
    note: str = ""

    @property
    def short(self) -> str:
        """The name without its prefix: `load` of `tl.load`."""
        return self.name.rpartition(".")[2]

    def target(self, triton: str = TRITON_VERSIONS[-1]) -> str | None:
        """What to write for a Triton version (`"3.6"`): `gl.load`, `tl.rand`; None where there is no such name."""
        return _at(self.targets, triton)

    def signature(self, triton: str = TRITON_VERSIONS[-1]) -> str | None:
        """The parameters for a Triton version, e.g. `(pointer, value, mask=None)`; None for what is not callable."""
        return _at(self.signatures, triton)

    def available(self, triton: str) -> bool:
        """Whether `triton.language` of that version has the name."""
        return version_key(self.since) <= version_key(triton) <= version_key(self.until)


def _entry(name: str, row: Mapping[str, Any]) -> ApiEntry:
    return ApiEntry(
        name=name,
        kind=row["kind"],
        status=row["status"],
        targets=tuple((since, target) for since, target in row.get("targets", {}).items()),
        recipe=row.get("recipe"),
        methods=tuple(row.get("methods", ())),
        aliases=tuple(row.get("aliases", ())),
        elementwise=row.get("elementwise", False),
        signatures=tuple((since, text) for since, text in row.get("signatures", {}).items()),
        since=row.get("since", TRITON_VERSIONS[0]),
        until=row.get("until", TRITON_VERSIONS[-1]),
        note=row.get("note", ""),
    )


@cache
def load_api() -> Mapping[str, ApiEntry]:
    """The table of API names by canonical name (`tl.load`, `tensor.to`, `descriptor.load`), in the table's order."""
    rows = json.loads((rules_dir() / "api.json").read_text(encoding="utf-8"))
    return MappingProxyType({name: _entry(name, row) for name, row in rows.items()})


@cache
def _other_names() -> Mapping[str, str]:
    """Aliases and methods to the canonical name of the operation."""
    names: dict[str, str] = {}
    for entry in load_api().values():
        for alias in entry.aliases:
            names[alias] = entry.name
        for method in entry.methods:
            names[f"tensor.{method}"] = entry.name
    return MappingProxyType(names)


_PREFIXES = ("triton.language.", "language.", "tl.")
# Where Triton itself defines its names; kernels import from there too.
_SUBMODULES = ("core.", "standard.", "random.")


def find_api(name: str) -> ApiEntry | None:
    """The row of a name under any spelling; None for a name that Triton does not have.

    `tl.sum`, `sum`, `triton.language.sum`, `tl.standard.sum`, `tl.math.exp`, `tensor.sum`; everything below `tl.extra`
    (libdevice) has the row of `tl.extra`.
    """
    table = load_api()
    if "libdevice" in name.split("."):
        return table["tl.extra"]
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            name = name.removeprefix(prefix)
            for submodule in _SUBMODULES:
                name = name.removeprefix(submodule)
            name = "tl.extra" if name.startswith("extra.") else f"tl.{name}"
            break
    for candidate in (name, f"tl.{name}"):
        if candidate in table:
            return table[candidate]
        if candidate in _other_names():
            return table[_other_names()[candidate]]
    return None


@dataclass(frozen=True)
class DiagnosticPage:
    """The page of one diagnostic code: `rules/diagnostics/TPnnn.md`.

    Attributes:
        code: the name of the file.
        name: a kebab-case name, never reused.
        severity: `error`, `warning` or `info`. An error means that a kernel, or the whole file, was left as it was.
        effort: what it takes a person to do the rest by hand: `none`, `low`, `medium` or `high`.
        since: the first tritonport version that reports it.
        hint: what to do, in one line.
        reserved: no code of this version reports it; the number is taken.
        body: the page in Markdown, without the front matter.
    """

    code: str
    name: str
    severity: str
    effort: str
    since: str
    hint: str
    reserved: bool = False
    body: str = field(default="", repr=False)


def _parse_page(code: str, text: str) -> DiagnosticPage:
    head, mark, body = text.removeprefix("---\n").partition("\n---\n")
    if not text.startswith("---\n") or not mark:
        raise ValueError(f"rules/diagnostics/{code}.md: no front matter between two lines '---'")
    fields: dict[str, str] = {}
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"rules/diagnostics/{code}.md: not 'key: value': {line!r}")
        fields[key.strip()] = value.strip()
    unknown = fields.keys() - {"name", "severity", "effort", "since", "hint", "reserved"}
    if unknown:
        raise ValueError(f"rules/diagnostics/{code}.md: unknown key {sorted(unknown)[0]!r}")
    try:
        page = DiagnosticPage(
            code=code,
            name=fields["name"],
            severity=fields["severity"],
            effort=fields["effort"],
            since=fields["since"],
            hint=fields["hint"],
            reserved=fields.get("reserved", "false") == "true",
            body=body.strip() + "\n",
        )
    except KeyError as missing:
        raise ValueError(f"rules/diagnostics/{code}.md: the key {missing} is missing") from None
    if page.severity not in SEVERITIES or page.effort not in EFFORTS:
        raise ValueError(f"rules/diagnostics/{code}.md: severity {page.severity!r}, effort {page.effort!r}")
    return page


@cache
def load_page(code: str) -> DiagnosticPage:
    """The page of a code; raises KeyError where there is none, ValueError where its front matter is wrong."""
    file = rules_dir() / "diagnostics" / f"{code}.md"
    if _CODE.fullmatch(code) is None or not file.is_file():
        raise KeyError(code)
    return _parse_page(code, file.read_text(encoding="utf-8"))


@cache
def diagnostic_codes() -> tuple[str, ...]:
    """Every code that has a page, in order."""
    return tuple(sorted(page.stem for page in (rules_dir() / "diagnostics").glob("TP*.md")))


@cache
def codes_by_name() -> Mapping[str, str]:
    """Kebab-case names to codes (reads every page)."""
    return MappingProxyType({load_page(code).name: code for code in diagnostic_codes()})


@dataclass(frozen=True)
class TargetFacts:
    """One architecture that code can be written for: a row of `rules/targets.json`.

    Attributes:
        name: `sm_90`.
        title: the family and a part of it, e.g. `Hopper (H100, H200)`.
        capability: the compute capability times ten.
        warp_size: lanes of a warp.
        shared_memory: the most that one CTA can have, bytes (CUDA C++ Programming Guide, "Technical Specifications per
            Compute Capability").
        processors: streaming multiprocessors of the full part.
    """

    name: str
    title: str
    capability: int
    warp_size: int
    shared_memory: int
    processors: int


@cache
def load_targets() -> Mapping[str, TargetFacts]:
    """The known targets by name, oldest first."""
    rows = json.loads((rules_dir() / "targets.json").read_text(encoding="utf-8"))
    return MappingProxyType({name: TargetFacts(name=name, **row) for name, row in rows.items()})
