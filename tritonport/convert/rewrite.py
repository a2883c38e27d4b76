"""Putting the written kernels back into the file: decorators, imports, and the functions a port brings along."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import libcst as cst

from tritonport.convert.copies import copies, imports, needed, without_copied
from tritonport.convert.follow import FollowPlan, names_in, plan
from tritonport.convert.host_descriptors import host_descriptors
from tritonport.convert.import_lines import import_place, is_standard, place_standard
from tritonport.convert.module import ModuleWriter
from tritonport.convert.snippets import (
    available,
    merged_imports,
    render,
    snippet,
    with_builtins,
    with_dependencies,
)
from tritonport.source.kernel import Kernel
from tritonport.source.parse import printed
from tritonport.source.syntax import dotted
from tritonport.source.walk import children, walk


def rewrite(writer: ModuleWriter) -> tuple[str, FollowPlan]:
    """The text of the converted file, and what it needs of other files."""
    replaced: dict[cst.CSTNode, list[cst.FunctionDef]] = {}
    for kernel, node in writer.written.items():
        replaced[kernel.node] = [_decorated(writer, kernel, node)]
    for kernel, versions in writer.helpers.items():
        if kernel.module is not writer.module:
            continue
        nodes = [_decorated(writer, kernel, version.node) for version in versions if version.node is not None]
        if kernel in writer.written:
            nodes = [node for node, version in zip(nodes, versions, strict=True) if version.name != kernel.name]
            replaced[kernel.node] += [_spaced(node) for node in nodes]
        elif all(version.name != kernel.name for version in versions):
            replaced[kernel.node] = [writer.module.as_written(kernel.node), *(_spaced(node) for node in nodes)]
        else:
            replaced[kernel.node] = [nodes[0], *(_spaced(node) for node in nodes[1:])]
    if not replaced:
        return writer.module.text, FollowPlan()
    for kernel in writer.module.kernels:
        if kernel.node not in replaced and kernel.node in writer.module.origins:
            # It was written out for the analysis alone and is left: the author's text comes back.
            replaced[kernel.node] = [writer.module.as_written(kernel.node)]
    converted = {*writer.written, *writer.helpers}
    replace = _Replace(writer, replaced, converted)
    body: list[cst.BaseStatement] = []
    first: int | None = None
    for statement in writer.module.tree.body:
        if not _concerned(writer, statement, replaced, replace.plain):
            body.append(statement)
            continue
        if first is None and _holds(statement, replaced):
            first = len(body)
        if statement in replaced:
            body += replaced[statement]
            continue
        changed = statement.visit(replace)
        assert isinstance(changed, cst.BaseStatement)
        body.append(changed)
    tree = host_descriptors(writer, writer.module.tree.with_changes(body=body))
    followed = plan(writer, needed(writer))
    return printed(tree.with_changes(body=_with_imports(writer, list(tree.body), first, followed))), followed


def _concerned(
    writer: ModuleWriter,
    statement: cst.BaseStatement,
    replaced: dict[cst.CSTNode, list[cst.FunctionDef]],
    plain: set[str],
) -> bool:
    """Whether a top-level statement holds a kernel that changes, or makes one with `triton.jit(fn)`."""
    if _holds(statement, replaced):
        return True
    return bool(plain) and any(
        isinstance(node, cst.Call) and writer.module.jit_language(node) == "triton" for node in walk(statement)
    )


def _decorated(writer: ModuleWriter, kernel: Kernel, node: cst.FunctionDef) -> cst.FunctionDef:
    """`@triton.jit` becomes `@gluon.jit`, options and all; other decorators stay where they are."""
    decorators = []
    jit = cst.parse_expression(f"{writer.gluon}.jit")
    for decorator in node.decorators:
        expression = decorator.decorator
        if writer.module.jit_language(expression) != "triton":
            decorators.append(decorator)
        elif isinstance(expression, cst.Call):
            decorators.append(decorator.with_changes(decorator=expression.with_changes(func=jit)))
        else:
            decorators.append(decorator.with_changes(decorator=jit))
    return node.with_changes(decorators=decorators)


def _spaced(node: cst.FunctionDef) -> cst.FunctionDef:
    return node.with_changes(leading_lines=[cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)])


class _Replace(cst.CSTTransformer):
    def __init__(
        self, writer: ModuleWriter, replaced: dict[cst.CSTNode, list[cst.FunctionDef]], converted: set[Kernel]
    ) -> None:
        super().__init__()
        self.writer = writer
        self.replaced = replaced
        self.plain = {kernel.node.name.value for kernel in converted if kernel.decorator is None}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return node not in self.replaced

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef | cst.FlattenSentinel[cst.FunctionDef]:
        nodes = self.replaced.get(original_node)
        if nodes is None:
            return updated_node
        return nodes[0] if len(nodes) == 1 else cst.FlattenSentinel(nodes)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """`name = triton.jit(fn)` of a converted function."""
        if not original_node.args or self.writer.module.jit_language(original_node) != "triton":
            return updated_node
        function = original_node.args[0].value
        if isinstance(function, cst.Name) and function.value in self.plain:
            jit = cst.parse_expression(f"{self.writer.gluon}.jit")
            if isinstance(updated_node.func, cst.Call):
                return updated_node.with_changes(func=updated_node.func.with_changes(func=jit))
            return updated_node.with_changes(func=jit)
        return updated_node


# -- imports


def _with_imports(
    writer: ModuleWriter, body: list[cst.BaseStatement], first_kernel: int | None, followed: FollowPlan
) -> list[cst.BaseStatement]:
    wanted = ["import triton\n"] if writer.needs_triton else []
    if "triton.experimental.gluon" not in _meanings(writer):
        alias = "" if writer.gluon == "gluon" else f" as {writer.gluon}"
        wanted.append(f"from triton.experimental import gluon{alias}\n")
    if "triton.experimental.gluon.language" not in _meanings(writer):
        wanted.append(f"from triton.experimental.gluon import language as {writer.gl}\n")
    kept = without_copied(writer, body)
    if first_kernel is not None and len(kept) != len(body):
        first_kernel = next(index for index, statement in enumerate(kept) if statement is body[first_kernel])
    body = kept
    place = import_place(body, first_kernel)
    lines = [cst.parse_statement(text, writer.config) for text in wanted]
    if lines:
        header = writer.header(writer.snippets)
        lines[0] = lines[0].with_changes(leading_lines=[cst.EmptyLine(comment=cst.Comment(header))])
    start = place if first_kernel is None else first_kernel
    functions, lines_of_functions = _snippet_statements(writer, body, followed)
    present = {
        writer.module.tree.code_for_node(statement).strip()
        for statement in body
        if isinstance(statement, cst.SimpleStatementLine)
    }
    missing = [line for line in lines_of_functions if writer.module.tree.code_for_node(line).strip() not in present]
    standard = [line for line in missing if is_standard(line)]
    body[start:start] = [*functions, *copies(writer, followed.copies)]
    body[place:place] = [
        *lines,
        *(line for line in missing if line not in standard),
        *imports(writer, followed.copies),
        *(cst.parse_statement(f"{line}\n", writer.config) for line in followed.imports),
    ]
    for line in standard:
        place_standard(body, line)
    return _without_unused(body)


def _meanings(writer: ModuleWriter) -> set[str]:
    return {name for meanings in writer.module.bindings.imported.values() for name in meanings}


def _holds(statement: cst.BaseStatement, replaced: dict[cst.CSTNode, list[cst.FunctionDef]]) -> bool:
    stack: list[cst.CSTNode] = [statement]
    while stack:
        node = stack.pop()
        if node in replaced:
            return True
        if isinstance(node, (cst.BaseCompoundStatement, cst.BaseSuite, cst.Else)):
            stack.extend(children(node))
    return False


def _used_snippets(writer: ModuleWriter, body: Sequence[cst.BaseStatement], followed: FollowPlan) -> set[str]:
    """The emitted functions that the file itself names, and not only what is ported elsewhere."""
    if not followed.copies:
        return writer.snippets
    named = {name for statement in (*body, *copies(writer, followed.copies)) for name in names_in(statement)}
    return {name for name in writer.snippets if writer.renamed_snippets.get(name, name) in named}


def _snippet_statements(
    writer: ModuleWriter, body: Sequence[cst.BaseStatement], followed: FollowPlan
) -> tuple[list[cst.BaseStatement], list[cst.SimpleStatementLine]]:
    """The emitted functions the file does not have yet, and the imports they need."""
    statements: list[cst.BaseStatement] = []
    imports: dict[str, None] = {}
    present = {
        statement.name.value: writer.module.tree.code_for_node(statement).strip()
        for statement in body
        if isinstance(statement, cst.FunctionDef) and statement.name.value in available(writer.target)
    }
    for name in with_dependencies(_used_snippets(writer, body, followed), writer.target):
        text = render(name, writer.gluon, writer.gl, writer.renamed_snippets, writer.target, writer.triton)
        text = with_builtins(text, writer.module.binds)
        if present.get(writer.renamed_snippets.get(name, name)) == text.strip():
            continue
        parsed = _parsed(text, writer.config)
        for statement in parsed.body:
            if isinstance(statement, cst.FunctionDef):
                statements.append(_spaced(statement))
            else:
                above = [line for line in parsed.header if line.comment is not None]
                statements.append(statement.with_changes(leading_lines=[cst.EmptyLine(indent=False), *above]))
        for line in snippet(name, writer.target)[0]:
            imports.setdefault(line)
    imports |= dict.fromkeys(sorted(writer.imports_used))
    parsed_lines = [cst.parse_statement(line + "\n", writer.config) for line in merged_imports(imports)]
    return statements, [line for line in parsed_lines if isinstance(line, cst.SimpleStatementLine)]


@cache
def _parsed(text: str, config: cst.PartialParserConfig) -> cst.Module:
    """The tree of an emitted function, which many files have: parsing forty of them took a sixth of a conversion."""
    return cst.parse_module(text, config)


def _without_unused(body: list[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Drop imports from `triton.language` that nothing uses any more. Everything else that is imported stays."""
    kept: list[cst.BaseStatement] = []
    used = _used_names(body)
    carried: list[cst.EmptyLine] = []
    for statement in body:
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
            small = _pruned(statement.body[0], used)
            if small is None:
                carried += list(statement.leading_lines)
                continue
            if small is not statement.body[0]:
                statement = statement.with_changes(body=[small])
        if carried and hasattr(statement, "leading_lines"):
            statement = statement.with_changes(leading_lines=[*carried, *statement.leading_lines])
            carried = []
        kept.append(statement)
    return kept


def _pruned(small: cst.BaseSmallStatement, used: set[str]) -> cst.BaseSmallStatement | None:
    if isinstance(small, cst.Import):
        if len(small.names) == 1 and dotted(small.names[0].name) == "triton.language":
            alias = small.names[0].asname
            if alias is not None and isinstance(alias.name, cst.Name) and alias.name.value not in used:
                return None
        return small
    if isinstance(small, cst.ImportFrom) and small.module is not None and not isinstance(small.names, cst.ImportStar):
        module = dotted(small.module)
        kept = []
        for item in small.names:
            name = item.name.value if isinstance(item.name, cst.Name) else ""
            local = name
            if item.asname is not None and isinstance(item.asname.name, cst.Name):
                local = item.asname.name.value
            ours = (module == "triton" and name == "language") or module == "triton.language"
            jit = module == "triton" and name == "jit"
            if (ours or jit) and local not in used:
                continue
            kept.append(item)
        if not kept:
            return None
        if len(kept) != len(small.names):
            kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            return small.with_changes(names=kept)
    return small


def _used_names(body: Sequence[cst.CSTNode]) -> set[str]:
    found: set[str] = set()
    stack: list[cst.CSTNode] = list(body)
    while stack:
        node = stack.pop()
        if type(node) is cst.Name:
            found.add(node.value)
        elif type(node) is cst.Attribute:
            stack.append(node.value)
        elif type(node) is cst.SimpleString:
            found.update(part for part in node.value.strip("'\"").split(".")[:1])
        elif type(node) is not cst.Import and type(node) is not cst.ImportFrom:
            stack += children(node)
    return found
