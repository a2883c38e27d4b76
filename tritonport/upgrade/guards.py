"""The statements of a loop one by one, with the `if`s around them that are decided when the kernel is compiled.

Such an `if` takes one branch in all iterations, so its statements may be put apart and together again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.upgrade.decided import asked_of, denied
from tritonport.upgrade.edit import code
from tritonport.upgrade.facts import Facts


@dataclass(frozen=True, eq=False)
class Arm:
    """One branch (0 or 1) of an `if`: there a test, as source text without negation, holds or does not."""

    node: cst.If
    branch: int
    test: str
    holds: bool


Guard = tuple[Arm, ...]
"""The branches around a statement, the outermost first."""


def arm_of(node: cst.If, branch: int) -> Arm:
    """A branch of an `if`, with what holds in it."""
    test, plain = asked_of(node.test)
    return Arm(node, branch, test, plain == (branch == 0))


def facts_of(guard: Guard) -> Facts:
    """What holds under a guard."""
    return frozenset((arm.test, arm.holds) for arm in guard)


def arms_to(node: cst.If, block: cst.CSTNode) -> Guard:
    """The branches from an `if`, through its `elif`s, to one of its blocks."""
    if node.body is block:
        return (arm_of(node, 0),)
    inner = arms_to(node.orelse, block) if isinstance(node.orelse, cst.If) else ()
    return (arm_of(node, 1), *inner)


def put_apart(
    statements: Sequence[cst.CSTNode], chosen: Callable[[cst.If], bool], guard: Guard = ()
) -> list[tuple[cst.BaseStatement, Guard]]:
    """The statements of a block, those of some `if`s one by one, each with its guard.

    Args:
        chosen: whether an `if` is put apart; the others are statements like all.
    """
    found: list[tuple[cst.BaseStatement, Guard]] = []
    for statement in statements:
        if isinstance(statement, cst.If) and chosen(statement):
            found += put_apart(statement.body.body, chosen, (*guard, arm_of(statement, 0)))
            orelse = statement.orelse
            behind = [orelse] if isinstance(orelse, cst.If) else orelse.body.body if orelse is not None else ()
            found += put_apart(behind, chosen, (*guard, arm_of(statement, 1)))
        else:
            assert isinstance(statement, cst.BaseStatement)
            found.append((statement, guard))
    return found


def put_together(
    lines: Iterable[tuple[cst.BaseStatement, Guard]], bare: bool = False, known: Collection[int] = ()
) -> list[cst.BaseStatement]:
    """Statements under their `if`s: neighbours with one test share an `if`.

    Args:
        bare: without the comments of the `if`s.
        known: `if`s whose comments stand somewhere already, by identity.
    """
    return _Together(bare, set(known)).block(list(lines), 0)


class _Together:
    def __init__(self, bare: bool, known: set[int]) -> None:
        self.bare, self.known = bare, known

    def block(self, lines: Sequence[tuple[cst.BaseStatement, Guard]], depth: int) -> list[cst.BaseStatement]:
        found: list[cst.BaseStatement] = []
        place = 0
        while place < len(lines):
            statement, guard = lines[place]
            if len(guard) == depth:
                found.append(statement)
                place += 1
                continue
            first = _run(lines[place:], depth, guard[depth].test, guard[depth].holds)
            place += len(first)
            second = _run(lines[place:], depth, guard[depth].test, not guard[depth].holds)
            place += len(second)
            found.append(self._if(guard[depth], first, second, depth))
        return found

    def _if(
        self,
        arm: Arm,
        first: Sequence[tuple[cst.BaseStatement, Guard]],
        second: Sequence[tuple[cst.BaseStatement, Guard]],
        depth: int,
    ) -> cst.If:
        """The `if` of lines in the branch of an arm, and of others in the other one."""
        node = arm.node
        bare = self.bare or id(node) in self.known
        self.known.add(id(node))
        body, others = (self.block(one, depth + 1) for one in ((first, second) if arm.branch == 0 else (second, first)))
        block = node.body if isinstance(node.body, cst.IndentedBlock) else cst.IndentedBlock([])
        node = node.with_changes(leading_lines=[]) if bare else node
        if bare:
            block = cst.IndentedBlock([])
        if not body:
            test = cst.parse_expression(denied(code(node.test)))
            return node.with_changes(test=test, body=block.with_changes(body=others), orelse=None)
        node = node.with_changes(body=block.with_changes(body=body))
        if not others:
            return node.with_changes(orelse=None)
        if isinstance(node.orelse, cst.If) and len(others) == 1 and isinstance(others[0], cst.If):
            return node.with_changes(orelse=others[0])
        own = node.orelse if isinstance(node.orelse, cst.Else) and not bare else cst.Else(cst.IndentedBlock([]))
        return node.with_changes(orelse=own.with_changes(body=cst.IndentedBlock(others)))


def _run(
    lines: Sequence[tuple[cst.BaseStatement, Guard]], depth: int, test: str, holds: bool
) -> list[tuple[cst.BaseStatement, Guard]]:
    """The first lines that stand in one branch of a test."""
    found: list[tuple[cst.BaseStatement, Guard]] = []
    for line in lines:
        arms = line[1][depth : depth + 1]
        if not arms or (arms[0].test, arms[0].holds) != (test, holds):
            break
        found.append(line)
    return found


__all__ = ["Arm", "Guard", "arm_of", "arms_to", "facts_of", "put_apart", "put_together"]
