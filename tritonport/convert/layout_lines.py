"""The layouts of a function where it defines them: at its head, below the constants that they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

import libcst as cst

from tritonport.analysis.terms import Root
from tritonport.convert.alignment import Alignment
from tritonport.convert.function_layouts import HelperLayouts, KernelLayouts
from tritonport.convert.layout_text import definitions, made_text
from tritonport.convert.optional import optional_arguments
from tritonport.convert.output import OutputFile
from tritonport.convert.snippets import rename
from tritonport.convert.syntax import after_docstring, blank_before, starts_with_blank
from tritonport.source.walk import walk

LINE = 120


def with_kernel_layouts(
    node: cst.FunctionDef, layouts: KernelLayouts, module: OutputFile, alignment: Alignment, rows: bool
) -> cst.FunctionDef:
    """A kernel with the definitions of its layouts.

    alignment: takes the compile-time arguments that the definitions need. rows: the layout of a dot depends on whether
    its rows are reduced.
    """
    body = _with_room(node)
    statements = list(body.body)
    place = after_docstring(statements)
    lines: list[cst.BaseStatement] = []
    for name, text in _definitions(layouts, module, alignment, rows):
        place = max(place, _below_locals(text, body))
        lines.append(cst.parse_statement(f"{name}: {module.gl}.constexpr = {text}\n", module.config))
    recovered = module.analysis.recovered(layouts.kernel)
    if recovered is not None and lines:
        said = wrap(f"What Triton chose for {module.target}: {recovered.label}.", LINE - 10)
        above = [cst.EmptyLine(comment=cst.Comment(f"# {part}")) for part in said]
        lines[0] = lines[0].with_changes(leading_lines=above)
    following = statements[place] if place < len(statements) else None
    if following is not None and not starts_with_blank(following) and len(lines) > 1:
        statements[place] = blank_before(following)
    statements[place:place] = lines
    return node.with_changes(body=body.with_changes(body=statements))


def with_helper_layouts(
    node: cst.FunctionDef, layouts: HelperLayouts, module: OutputFile, conversions: Sequence[cst.BaseSmallStatement]
) -> cst.FunctionDef:
    """A helper with the layouts it takes from its arguments, and the conversions of arguments for its loops."""
    body = _with_room(node)
    used = {one.value for part in (body, *conversions) for one in walk(part) if isinstance(one, cst.Name)}
    lines = [
        cst.parse_statement(f"{name}: {module.gl}.constexpr = {parameter}.type.layout\n", module.config)
        for parameter, name in layouts.arguments.items()
        if name in used
    ]
    statements = list(body.body)
    place = after_docstring(statements)
    statements[place:place] = [*lines, *(cst.SimpleStatementLine([small]) for small in conversions)]
    return node.with_changes(body=body.with_changes(body=statements))


def _definitions(layouts: KernelLayouts, module: OutputFile, alignment: Alignment, rows: bool) -> list[tuple[str, str]]:
    """Name and expression of each layout of a kernel, and of what they share."""
    parameters = {parameter.name for parameter in layouts.kernel.parameters if not parameter.constexpr}
    optional = optional_arguments(layouts.kernel)
    lines_above: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for term, name in layouts.named.items():
        if isinstance(term, Root):
            found += definitions(
                term,
                name,
                module.analysis.integers_of(layouts.frame),
                parameters,
                module.gl,
                module.snippets,
                layouts.names,
                LINE - len(f"{name}: {module.gl}.constexpr = ") - 4,
                alignment,
                layouts.named,
                module.triton,
                lines_above,
                rows,
                optional,
            )
        else:
            found.append((name, made_text(term, layouts.named, module.gl, module.snippets)))
    return [(name, rename(text, module.renamed_snippets)) for name, text in found]


def _with_room(node: cst.FunctionDef) -> cst.IndentedBlock:
    """The body of a function; `def f(x): return g(x)` has no room for a layout and gets it."""
    if isinstance(node.body, cst.SimpleStatementSuite):
        line = cst.SimpleStatementLine(node.body.body, trailing_whitespace=node.body.trailing_whitespace)
        return cst.IndentedBlock([line])
    assert isinstance(node.body, cst.IndentedBlock)
    return node.body


def _below_locals(text: str, body: cst.IndentedBlock) -> int:
    """A layout's text may name local constexprs: the position in the body below the last of them."""
    names = set(re.findall(r"[A-Za-z_]\w*", text))
    places = [
        index + 1
        for index, statement in enumerate(body.body)
        if any(_defines_constexpr(statement, name) for name in names)
    ]
    return max(places, default=0)


def _defines_constexpr(statement: cst.BaseStatement, name: str) -> bool:
    if isinstance(statement, cst.SimpleStatementLine):
        return any(
            isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name) and small.target.value == name
            for small in statement.body
        )
    if isinstance(statement, cst.If):
        return any(
            _defines_constexpr(inner, name) for inner in statement.body.body if isinstance(inner, cst.BaseStatement)
        )
    return False
