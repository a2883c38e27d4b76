"""The returns of a function whose body takes the place of a call, as assignments: an early one becomes an `else`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst

from tritonport.source.walk import calls_in, walk
from tritonport.upgrade.slices import names_of

Way = tuple[tuple[str, int], ...]
"""The `if`s around a place: the test of each as source text, with the branch (0 or 1)."""


def opens(function: cst.FunctionDef) -> bool:
    """Whether the body of a function can stand in the place of a call: it is more than one expression, and no `return`
    stands in a loop or in an `if` of which both branches may return and neither always does."""
    if not isinstance(function.body, cst.IndentedBlock):
        return False
    if any(isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ListComp)) for node in walk(function.body)):
        return False
    lines = _lines(function.body)
    returned = any(isinstance(node, cst.Return) and node.value is not None for node in walk(function.body))
    return bool(lines) and (not returned or _ends(lines)) and _is_settled(lines)


class Returns:
    """Writes the returns of one body as assignments of a line that called it.

    Attributes:
        open_ways: the ways to `if`s that chose between returns by what is no compile-time value, and to branches that
            return in some cases.
        again: of statements that stand in two branches the calls in the second, and what they are in the first.
    """

    def __init__(
        self,
        line: cst.SimpleStatementLine,
        small: cst.BaseSmallStatement,
        constexprs: Collection[str],
        module: cst.Module,
    ) -> None:
        self.line, self.small, self.constexprs, self.module = line, small, constexprs, module
        self.open_ways: list[Way] = []
        self.again: dict[cst.Call, cst.Call] = {}

    def replaced(self, lines: Sequence[cst.BaseStatement], way: Way = ()) -> list[cst.BaseStatement]:
        """The statements of a block, for a body that `opens`, without its returns."""
        for place, line in enumerate(lines):
            if _is_return(line):
                return [*lines[:place], *self._assigned(line)]
            if isinstance(line, cst.If) and _returns([line]):
                return [*lines[:place], self._chosen(line, lines[place + 1 :], way)]
        return list(lines)

    def _chosen(self, node: cst.If, rest: Sequence[cst.BaseStatement], way: Way) -> cst.BaseStatement:
        """`if test: return x` and what follows as the two branches of one `if`."""
        test = self.module.code_for_node(node.test).strip()
        if isinstance(self.small, cst.Assign) and not names_of(node.test) <= set(self.constexprs):
            self.open_ways.append(way)
        found = []
        branches = _lines(node.body), _orelse(node)
        for branch, lines in enumerate(branches):
            if _returns(lines) and not any(map(_ends, branches)):
                # What follows the `if` stands in both of its branches then.
                self.open_ways.append((*way, (test, branch)))
            whole = lines if _ends(lines) else [*lines, *(self._again(one) if branch else one for one in rest)]
            found.append(self.replaced(whole, (*way, (test, branch))))
        body, orelse = (cst.IndentedBlock(lines or [_PASS]) for lines in found)
        return node.with_changes(body=body, orelse=cst.Else(orelse) if found[1] else None)

    def _again(self, line: cst.BaseStatement) -> cst.BaseStatement:
        clone = line.deep_clone()
        self.again.update(zip(calls_in(clone), calls_in(line), strict=True))
        return clone

    def _assigned(self, line: cst.BaseStatement) -> list[cst.BaseStatement]:
        assert isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[-1], cst.Return)
        result = line.body[-1].value
        if not isinstance(self.small, cst.Assign) or result is None:
            return []
        return [self.line.with_changes(body=[self.small.with_changes(value=result)], leading_lines=[])]


_PASS = cst.SimpleStatementLine([cst.Pass()])


def _is_settled(lines: Sequence[cst.BaseStatement]) -> bool:
    for line in lines:
        if isinstance(line, cst.If) and _returns([line]):
            branches = [_lines(line.body), _orelse(line)]
            one_way = any(map(_ends, branches)) or not all(map(_returns, branches))
            if not one_way or not all(map(_is_settled, branches)):
                return False
        elif _returns([line]) and not _is_return(line):
            return False
    return True


def _ends(lines: Sequence[cst.BaseStatement]) -> bool:
    """Whether a block returns whatever happens in it."""
    for line in lines:
        if _is_return(line):
            return True
        if isinstance(line, cst.If) and _ends(_lines(line.body)) and _ends(_orelse(line)):
            return True
    return False


def _is_return(line: cst.BaseStatement) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and isinstance(line.body[0], cst.Return)


def _returns(lines: Sequence[cst.BaseStatement]) -> bool:
    return any(isinstance(node, cst.Return) for line in lines for node in walk(line))


def _lines(body: cst.BaseSuite) -> list[cst.BaseStatement]:
    if isinstance(body, cst.IndentedBlock):
        return list(body.body)
    return [cst.SimpleStatementLine([one]) for one in body.body if isinstance(one, cst.BaseSmallStatement)]


def _orelse(node: cst.If) -> list[cst.BaseStatement]:
    if isinstance(node.orelse, cst.If):
        return [node.orelse]
    return _lines(node.orelse.body) if node.orelse is not None else []


__all__ = ["Returns", "Way", "opens"]
