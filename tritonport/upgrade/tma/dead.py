"""Leaving out what nothing reads any more."""

from __future__ import annotations

import builtins
from collections.abc import Container, Sequence

import libcst as cst

from tritonport.source.walk import walk
from tritonport.upgrade import liveness
from tritonport.upgrade.slices import is_pure


def without_unread(node: cst.FunctionDef, functions: Container[str]) -> cst.FunctionDef:
    """The function without assignments to names that nothing reads, and without parameters of that kind.

    What may do more than compute a value stays: accesses to memory, and calls of functions of the file, other than
    the `functions` that are known to compute alone.
    """
    while True:
        # Only what is a line of its own can be left out.
        lines = [one.body for one in walk(node) if isinstance(one, cst.SimpleStatementLine)]
        alone = {id(line[0]) for line in lines if len(line) == 1 and _computes(line[0], functions)}
        unread, read = liveness.unread(node, alone)
        dropper = _Dropper({id(one) for one in unread}, functions)
        found = node.visit(dropper)
        assert isinstance(found, cst.FunctionDef)
        if not dropper.changed:
            break
        node = found
    params = [one for one in node.params.params if one.name.value in read]
    return node.with_changes(params=node.params.with_changes(params=params))


def _computes(small: cst.BaseSmallStatement, functions: Container[str]) -> bool:
    """Whether an assignment to names alone does nothing else."""
    if isinstance(small, cst.Assign):
        targets = [target.target for target in small.targets]
    elif isinstance(small, (cst.AnnAssign, cst.AugAssign)):
        targets = [small.target]
    else:
        return False
    return None not in [name for target in targets for name in _target_names(target)] and _pure(small, functions)


def _pure(node: cst.CSTNode, functions: Container[str]) -> bool:
    calls = [one.func.value for one in walk(node) if isinstance(one, cst.Call) and isinstance(one.func, cst.Name)]
    return is_pure(node) and all(name in functions or hasattr(builtins, name) for name in calls)


class _Dropper(cst.CSTTransformer):
    def __init__(self, unread: set[int], functions: Container[str]) -> None:
        super().__init__()
        self.unread = unread
        self.functions = functions
        self.changed = False
        self.chained: set[int] = set()

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return False  # it is dropped whole, or stays as it is

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        kept: list[cst.BaseStatement] = []
        spaced = False
        for statement in updated_node.body:
            if self._is_unread(statement):
                # The paragraphs of the body stay apart.
                spaced |= bool(kept) and any(line.comment is None for line in _leading(statement))
                continue
            leading = _leading(statement)
            if spaced and not (leading and leading[0].comment is None):
                statement = statement.with_changes(leading_lines=[cst.EmptyLine(indent=False), *leading])
            spaced = False
            kept.append(statement)
        if len(kept) == len(updated_node.body):
            return updated_node
        self.changed = True
        return updated_node.with_changes(body=kept)

    def _is_unread(self, statement: cst.BaseStatement) -> bool:
        if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
            return False
        return id(statement.body[0]) in self.unread

    def visit_If(self, node: cst.If) -> None:
        if isinstance(node.orelse, cst.If):
            self.chained.add(id(node.orelse))

    def leave_If(
        self, original_node: cst.If, updated_node: cst.If
    ) -> cst.BaseStatement | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]:
        found = self._settled(original_node, updated_node)
        self.changed |= found is not updated_node
        if isinstance(found, cst.FlattenSentinel) and id(original_node) in self.chained:
            return cst.Else(updated_node.body)  # type: ignore[return-value]  # an `elif` whose branches are the same
        return found

    def _settled(
        self, original_node: cst.If, updated_node: cst.If
    ) -> cst.BaseStatement | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]:
        """An `if` without the branches that are empty, or that are the same."""
        orelse = updated_node.orelse
        pure = _pure(original_node.test, self.functions)
        if isinstance(orelse, cst.Else) and pure and _code(orelse.body) == _code(updated_node.body):
            if _is_empty(orelse.body):
                return cst.RemoveFromParent()
            return cst.FlattenSentinel(_spaced(updated_node.body.body, updated_node))
        if isinstance(orelse, cst.Else) and _is_empty(orelse.body):
            updated_node = updated_node.with_changes(orelse=None)
        if _is_empty(updated_node.body) and updated_node.orelse is None and pure:
            return cst.RemoveFromParent()
        if _is_empty(updated_node.body):
            line = cst.SimpleStatementLine([cst.Pass()])
            return updated_node.with_changes(body=updated_node.body.with_changes(body=[line]))
        return updated_node


def _code(body: cst.BaseSuite) -> str:
    return cst.Module([]).code_for_node(body)


def _spaced(body: Sequence[cst.BaseStatement | cst.BaseSmallStatement], node: cst.If) -> list[cst.BaseStatement]:
    """The statements of a branch in the place of the `if`."""
    lines = [one for one in body if isinstance(one, cst.BaseStatement)]
    if _leading(lines[0]) == [] and hasattr(lines[0], "leading_lines"):
        lines[0] = lines[0].with_changes(leading_lines=node.leading_lines)
    return lines


def _leading(statement: cst.BaseStatement) -> list[cst.EmptyLine]:
    return list(getattr(statement, "leading_lines", ()))


def _is_empty(body: cst.BaseSuite) -> bool:
    return isinstance(body, cst.IndentedBlock) and not body.body


def _target_names(target: cst.BaseExpression) -> list[str | None]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for element in target.elements for name in _target_names(element.value)]
    return [None]


__all__ = ["without_unread"]
