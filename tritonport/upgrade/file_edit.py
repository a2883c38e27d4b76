"""What a stage changes in a file beside its kernels: the functions that it brings, imports, the header."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from tritonport.convert.import_lines import import_place
from tritonport.convert.snippets import available, merged_imports, render, snippet, with_dependencies
from tritonport.rules_data import TRITON_VERSIONS, version_key
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk

Statements = list[cst.SimpleStatementLine | cst.BaseCompoundStatement]
_HEADER = re.compile(r"#\s*tritonport: stages? (?P<stages>[\w, -]+?)(?: for (?P<target>sm_\w+))?, Triton (?P<range>.+)")


def alias(module: SourceModule, qualified: str, default: str) -> str:
    """What a file calls a module; `default` where it does not import it."""
    return next((name for name, meanings in module.bindings.imported.items() if qualified in meanings), default)


def renamed_functions(module: SourceModule, names: set[str], target: str, triton: str) -> dict[str, str]:
    """Emitted functions whose names a file has for something else, and the names that they get there."""
    gluon = alias(module, "triton.experimental.gluon", "gluon")
    gl = alias(module, "triton.experimental.gluon.language", "gl")
    present = {one.name.value: one for one in module.tree.body if isinstance(one, (cst.FunctionDef, cst.ClassDef))}
    taken = {*present, *module.bindings.imported, *module.bindings.assigned}
    found: dict[str, str] = {}
    for name in with_dependencies(names, target):
        text = render(name, gluon, gl, {}, target, triton).strip()
        known = present.get(name)
        same = known is not None and module.tree.code_for_node(known.with_changes(leading_lines=[])).strip() == text
        ours = text.startswith(("@", "class ", "def "))
        if ours and name in taken and not same:
            number = next(number for number in range(2, len(taken) + 3) if f"{name}_{number}" not in taken)
            found[name] = f"{name}_{number}"
    return found


def with_functions(
    module: SourceModule,
    body: Statements,
    names: set[str],
    place: int,
    target: str,
    triton: str,
    wanted_imports: Sequence[str],
    renamed: dict[str, str],
) -> Statements:
    """The file's statements with emitted functions before the statement at `place`, and their imports at the top.

    One that the file has under its name in `renamed`, or its own, is not written again. One further down moves up: a
    decorator is called as the file is read, and a reader wants a function before what uses it.
    """
    gluon = alias(module, "triton.experimental.gluon", "gluon")
    gl = alias(module, "triton.experimental.gluon.language", "gl")
    above, below = body[:place], body[place:]
    present = {statement.name.value for statement in above if isinstance(statement, (cst.ClassDef, cst.FunctionDef))}
    present |= {name for name in module.bindings.assigned if name in available(target)}
    later = {one.name.value: one for one in below if isinstance(one, (cst.ClassDef, cst.FunctionDef))}
    imports: dict[str, None] = dict.fromkeys(wanted_imports)
    functions: Statements = []
    for name in with_dependencies(names, target):
        if renamed.get(name, name) in present:
            continue
        imports.update(dict.fromkeys(snippet(name, target)[0]))
        moved = later.get(renamed.get(name, name))
        if moved is not None:
            functions.append(moved)
            continue
        parsed = cst.parse_module(render(name, gluon, gl, renamed, target, triton), module.tree.config_for_parsing)
        for statement in parsed.body:
            lines = [cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)]
            functions.append(statement.with_changes(leading_lines=lines))
    body = [*above, *functions, *(statement for statement in below if statement not in functions)]
    return _with_imports(module, body, merged_imports(imports), place)


def _with_imports(module: SourceModule, body: Statements, lines: Sequence[str], before: int) -> Statements:
    """Imports behind the last one of Triton above a statement; names that the file imports from the same module there
    join that line."""
    known = module.bindings.imported.keys() - (_imported(body[before:]) - _imported(body[:before]))
    for line in lines:
        source, _, names = line.partition(" import ")
        wanted = [name.strip() for name in names.split(",") if name.strip() not in known]
        if not wanted and names:
            continue
        qualified = source.removeprefix("from ")
        for index, statement in enumerate(body[:before]):
            joined = _joined(statement, qualified, wanted)
            if joined is not None:
                body[index] = joined
                break
        else:
            text = f"{source} import {', '.join(wanted)}\n" if names else f"{line}\n"
            body.insert(import_place(body, before), cst.parse_statement(text, module.tree.config_for_parsing))
            before += 1
    return body


def _imported(statements: Sequence[cst.BaseStatement]) -> set[str]:
    """The names that `from` imports among statements bind."""
    found: set[str] = set()
    for statement in statements:
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.ImportFrom) and not isinstance(small.names, cst.ImportStar):
                found |= {one.evaluated_alias or one.evaluated_name for one in small.names}
    return found


def _joined(statement: cst.BaseStatement, qualified: str, wanted: Sequence[str]) -> cst.SimpleStatementLine | None:
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not isinstance(small, cst.ImportFrom) or small.module is None or dotted(small.module) != qualified:
        return None
    if isinstance(small.names, cst.ImportStar) or any(isinstance(node, cst.Comment) for node in walk(small)):
        return None
    bare = [one.with_changes(comma=cst.MaybeSentinel.DEFAULT) for one in small.names]
    names = sorted([*(cst.Module([]).code_for_node(one).strip() for one in bare), *wanted])
    made = cst.parse_statement(f"from {qualified} import {', '.join(names)}\n")
    return statement.with_changes(body=made.body)


def stages_of(text: str) -> tuple[str, ...]:
    """The stages that the header of a file records."""
    match = _HEADER.search(text)
    return tuple(part.strip() for part in match["stages"].split(",")) if match else ()


def with_header(text: str, stage: str, target: str, since: str, until: str) -> str:
    """The text with a stage recorded, for which names of the Triton versions `since` to `until` are written."""
    match = _HEADER.search(text)
    stages = [*stages_of(text), *([stage] if stage not in stages_of(text) else [])]
    found = re.findall(r"\d+\.\d+", match["range"]) if match else []
    first = max([since, *found[:1]], key=version_key)
    last = min([until, *found[-1:]], key=version_key)
    versions = f"Triton {first}" if first == last else f"Triton {first} to {last}"
    line = f"# tritonport: stage{'s' if len(stages) > 1 else ''} {', '.join(stages)} for {target}, {versions}"
    if match is not None:
        return text[: match.start()] + line + text[match.end() :]
    place = re.search(r"^from triton\.experimental import gluon", text, re.MULTILINE)
    return text if place is None else f"{text[: place.start()]}{line}\n{text[place.start() :]}"


def async_copy_versions(triton: str) -> tuple[str, str]:
    """The first and last Triton that has the name of the cp.async copy which is written for a version."""
    new = version_key(triton) >= version_key("3.8")
    fitting = [one for one in TRITON_VERSIONS if (version_key(one) >= version_key("3.8")) == new or one == "3.8"]
    return fitting[0], fitting[-1]


__all__ = ["alias", "async_copy_versions", "renamed_functions", "stages_of", "with_functions", "with_header"]
