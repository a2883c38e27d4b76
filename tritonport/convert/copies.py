"""Writing helpers of other files into the output: their functions, the imports these need, the imports they replace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tritonport.convert.imported import Copy
from tritonport.convert.module import ModuleWriter
from tritonport.source.walk import children


def copies(writer: ModuleWriter, elsewhere: Sequence[Copy] = ()) -> list[cst.BaseStatement]:
    """The copied helpers, callees first, each with a line that says where it comes from; not those `elsewhere`."""
    statements: list[cst.BaseStatement] = []
    for copy in needed(writer):
        if any(copy is other for other in elsewhere):
            continue
        above = [
            cst.EmptyLine(indent=False),
            cst.EmptyLine(indent=False),
            cst.EmptyLine(comment=cst.Comment(f"# From {copy.kernel.module.name}.")),
        ]
        statements.append(with_jit(writer, copy).with_changes(leading_lines=above))
    return statements


def with_jit(writer: ModuleWriter, copy: Copy) -> cst.FunctionDef:
    """A copied helper under `@gluon.jit`, with the options it had."""
    jit = cst.parse_expression(f"{writer.gluon}.jit")
    decorators = []
    for decorator in copy.node.decorators:
        expression = decorator.decorator
        if copy.kernel.module.jit_language(expression) is None:
            continue
        options = isinstance(expression, cst.Call)
        written = expression.with_changes(func=jit) if options else jit
        decorators.append(decorator.with_changes(decorator=written, leading_lines=[]))
    return copy.node.with_changes(decorators=decorators, leading_lines=[], lines_after_decorators=[])


def needed(writer: ModuleWriter) -> list[Copy]:
    """The copies that the output names: one may have been written for a call that went another way."""
    if not writer.imported.copies:
        return []
    written = [version.node for versions in writer.helpers.values() for version in versions if version.node is not None]
    work: list[cst.CSTNode] = [*writer.written.values(), *written]
    named: set[str] = set()
    while work:
        found = set(_names(work.pop())) - named
        work += [copy.node for copy in writer.imported.copies if copy.name in found]
        named |= found
    return [copy for copy in writer.imported.copies if copy.name in named]


def _names(node: cst.CSTNode) -> Iterator[str]:
    """The names in a tree, without those that follow a dot."""
    stack = [node]
    while stack:
        item = stack.pop()
        if type(item) is cst.Name:
            yield item.value
        elif type(item) is cst.Attribute:
            stack.append(item.value)
        else:
            stack += reversed(children(item))


def imports(writer: ModuleWriter, elsewhere: Sequence[Copy] = ()) -> list[cst.BaseStatement]:
    """What the copied helpers name, imported from where it is defined; not for those `elsewhere`."""
    if not writer.imported.imports:
        return []
    here = [copy for copy in needed(writer) if not any(copy is other for other in elsewhere)]
    named = {name for copy in here for name in _names(copy.node)}
    # A function that is passed on is named by the port's own kernels.
    named |= {name for node in writer.written.values() for name in _names(node)} if elsewhere else set()
    lines = [line for name, line in writer.imported.imports.items() if name in named]
    return [cst.parse_statement(f"{line}\n", writer.config) for line in lines]


def without_copied(writer: ModuleWriter, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """The file without the imports of helpers that it now has itself."""
    replaced = writer.imported.replaced
    if not replaced:
        return list(body)
    kept: list[cst.BaseStatement] = []
    for statement in body:
        if isinstance(statement, cst.SimpleStatementLine):
            small = [part for part in (_without(one, replaced) for one in statement.body) if part is not None]
            if not small:
                continue
            if any(one is not other for one, other in zip(small, statement.body, strict=False)):
                statement = statement.with_changes(body=small)
        kept.append(statement)
    return kept


def _without(small: cst.BaseSmallStatement, replaced: set[str]) -> cst.BaseSmallStatement | None:
    if not isinstance(small, cst.ImportFrom) or isinstance(small.names, cst.ImportStar):
        return small
    names = [alias for alias in small.names if _local(alias) not in replaced]
    if len(names) == len(small.names):
        return small
    if not names:
        return None
    if small.lpar is None:
        names[-1] = names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return small.with_changes(names=names)


def _local(alias: cst.ImportAlias) -> str:
    name = alias.asname.name if alias.asname is not None else alias.name
    return name.value if isinstance(name, cst.Name) else ""


__all__ = ["copies", "imports", "needed", "with_jit", "without_copied"]
