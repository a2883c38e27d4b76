"""Pieces of device functions that are run as one where they can be: expressions, and statements in a row."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Protocol

_KEPT = (ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Subscript, ast.UnaryOp)
"""Expressions that are worth keeping."""
_PARTS = (
    *_KEPT, ast.Attribute, ast.Slice, ast.IfExp, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.keyword,
    ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop,
)  # fmt: skip
"""What an expression that can be kept consists of: nothing that assigns a variable."""
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.Assert, ast.Pass)


class Code(Protocol):
    """A piece of a device function.

    ``names`` are those that stand in it, of variables and of globals.
    """

    names: Sequence[str]

    def cannot_take(self, name: str) -> None:
        """What this name stands for keeps the piece from being run as one."""

    def give_up(self) -> None:
        """The piece cannot be run as one, for what it does where it stands now."""


class Expression:
    """An expression. Once it is given up, its parts are tried."""

    def __init__(self, node: ast.expr, names: Sequence[str]) -> None:
        self._node = node
        self.names = names

    def cannot_take(self, name: str) -> None:
        self.give_up()

    def give_up(self) -> None:
        self._node.__dict__["_code"] = None


def expression_at(node: ast.AST) -> Expression | None:
    """The expression that a node is, if it can be run as one."""
    if not isinstance(node, _KEPT):
        return None
    known = node.__dict__
    if "_code" not in known:
        parts = list(ast.walk(node))
        names = sorted({part.id for part in parts if isinstance(part, ast.Name)})
        known["_code"] = Expression(node, names) if all(isinstance(part, _PARTS) for part in parts) else None
    code: Expression | None = known["_code"]
    return code


class Block:
    """Statements in a row. Those that cannot be run with the others are split off.

    ``is_plain`` is set for a statement that is run by itself. ``position`` is that of the statement that runs.
    ``assigned`` are the names that the statements may assign.
    """

    def __init__(self, body: Body, statements: Sequence[ast.stmt], is_plain: bool = False) -> None:
        self._body = body
        self.statements = statements
        self.is_plain = is_plain
        self.position = 0
        parts = [part for statement in statements for part in ast.walk(statement)]
        found = [part for part in parts if isinstance(part, ast.Name)]
        self.names = sorted({part.id for part in found})
        self.assigned = sorted({part.id for part in found if isinstance(part.ctx, ast.Store)})

    def cannot_take(self, name: str) -> None:
        self._split(
            [any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(one)) for one in self.statements]
        )

    def give_up(self) -> None:
        self._split([index == self.position for index in range(len(self.statements))])

    def _split(self, plain: Sequence[bool]) -> None:
        """In place of the block come others, in which the statements that are marked are run by themselves."""
        parts: list[Block] = []
        row: list[ast.stmt] = []
        for statement, alone in zip(self.statements, plain, strict=True):
            if alone:
                parts += [Block(self._body, row)] if row else []
                parts.append(Block(self._body, [statement], is_plain=True))
                row = []
            else:
                row.append(statement)
        parts += [Block(self._body, row)] if row else []
        self._body.replace(self, parts)


class Body:
    """The statements of a function, or of a branch or a loop in one."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        whole = Block(self, statements)
        self._blocks = [whole]
        plain = [not _is_simple(statement) for statement in statements]
        if any(plain):
            whole._split(plain)

    def __iter__(self) -> Iterator[Block]:
        return iter(tuple(self._blocks))

    def replace(self, block: Block, parts: Sequence[Block]) -> None:
        if block in self._blocks:
            position = self._blocks.index(block)
            self._blocks[position : position + 1] = parts


def _is_simple(statement: ast.stmt) -> bool:
    """Whether a statement neither leaves the function nor declares a variable that has no value yet."""
    if not isinstance(statement, _STATEMENTS) or (isinstance(statement, ast.AnnAssign) and statement.value is None):
        return False
    return not any(isinstance(part, ast.Return | ast.While) for part in ast.walk(statement))


def body_of(statements: Sequence[ast.stmt]) -> Body:
    """The blocks of some statements: those of before, if they were asked for before."""
    # Kept by the first statement, since a list cannot; of a number of statements that begin there, there is one list.
    kept: dict[int, Body] = statements[0].__dict__.setdefault("_bodies", {})
    if len(statements) not in kept:
        kept[len(statements)] = Body(statements)
    return kept[len(statements)]
