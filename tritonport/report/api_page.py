"""The table of API names as a person reads it: one name for `tritonport explain`, all of it for `docs/api.md`."""

from collections.abc import Iterator

from tritonport.rules_data import STATUSES, TRITON_VERSIONS, ApiEntry, find_api, load_api


def find_entry(name: str) -> ApiEntry:
    """The row of a name under any spelling, also a Gluon one or a method (`x.sum`); ValueError names the nearest."""
    short = name.rpartition(".")[2]
    others = (f"tensor.{short}", f"descriptor.{short}") if "." in name else ()
    for entry in (find_api(name), _from_gluon(name), *(find_api(other) for other in others)):
        if entry is not None:
            return entry
    if name.startswith("triton.") and not name.startswith(("triton.language.", "triton.experimental.")):
        raise ValueError(f"{name!r} is no name of triton.language: what host code uses of triton stays as it is")
    from difflib import get_close_matches

    # What stands before the name is the same for most names: alike in that says nothing.
    by_short = {entry.short.rpartition(".")[2]: entry.name for entry in load_api().values()}
    near = get_close_matches(short, by_short, n=1)
    said = f"; did you mean {by_short[near[0]]!r}?" if near else ""
    raise ValueError(f"no name {name!r} in triton.language{said}")


def _from_gluon(name: str) -> ApiEntry | None:
    wanted = name.replace("triton.experimental.gluon.language.", "gl.")
    for entry in load_api().values():
        if any(target == wanted for _, target in entry.targets):
            return entry
    return None


def entry_text(entry: ApiEntry, triton: str) -> str:
    """One row, for one Triton version."""
    lines = [f"{entry.name}{entry.signature(triton) or ''}"]
    rows = [("kind", _kind(entry)), ("status", f"{entry.status}: {STATUSES[entry.status]}")]
    if target := entry.target(triton):
        rows.append(("Gluon", target))
    if len(entry.targets) > 1:
        rows.append(("by version", _targets(entry)))
    if entry.recipe:
        rows.append(("recipe", entry.recipe))
    if entry.methods:
        rows.append(("methods", ", ".join(f"x.{method}" for method in entry.methods)))
    if entry.aliases:
        rows.append(("also", ", ".join(entry.aliases)))
    if entry.note:
        rows.append(("note", entry.note))
    if not entry.available(triton):
        rows.append(("missing", f"Triton {triton} does not have it"))
    lines.extend(f"  {name:<11}{text}" for name, text in rows)
    return "\n".join(lines) + "\n"


def table_markdown() -> str:
    """All rows, as `docs/api.md` has them."""
    return "".join(f"{line}\n" for line in _table_lines())


def _table_lines() -> Iterator[str]:
    yield "| name | status | Gluon | note |"
    yield "|---|---|---|---|"
    for entry in load_api().values():
        target = f"`{_targets(entry)}`" if entry.targets else ""
        versions = _versions(entry)
        note = " ".join(part for part in (entry.note, f"Triton {versions} only." if versions else "") if part)
        yield f"| `{entry.name}` | {entry.status} | {target} | {note} |"


def _targets(entry: ApiEntry) -> str:
    if len(entry.targets) == 1:
        return entry.targets[0][1]
    return ", ".join(f"{target} ({since}+)" for since, target in entry.targets)


def _kind(entry: ApiEntry) -> str:
    versions = _versions(entry)
    return entry.kind + (", elementwise" if entry.elementwise else "") + (f", Triton {versions}" if versions else "")


def _versions(entry: ApiEntry) -> str:
    if (entry.since, entry.until) == (TRITON_VERSIONS[0], TRITON_VERSIONS[-1]):
        return ""
    return entry.since if entry.since == entry.until else f"{entry.since} to {entry.until}"
