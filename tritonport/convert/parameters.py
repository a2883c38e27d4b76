"""The parameters of a function with more behind them, laid out as the source has its own."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst


def has_default(params: Sequence[cst.Param]) -> bool:
    return any(param.default is not None for param in params)


def with_commas(params: list[cst.Param], original: Sequence[cst.Param]) -> list[cst.Param]:
    """A list of parameters that begins with the original ones: one to a line where those stand so."""
    if len(params) == len(original):
        return params
    space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    count = len(original)
    last = params[count - 1] if count else None
    trailing = last.comma if last is not None else cst.MaybeSentinel.DEFAULT
    if count > 1 and isinstance(params[0].comma, cst.Comma):
        broken = params[count - 2].comma
        if isinstance(broken, cst.Comma) and isinstance(broken.whitespace_after, cst.ParenthesizedWhitespace):
            # One parameter to a line: the new ones stand on lines of their own too.
            first = broken.whitespace_after.first_line
            line = broken.with_changes(
                whitespace_after=broken.whitespace_after.with_changes(
                    first_line=first.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
                )
            )
            result = [*params[: count - 1], params[count - 1].with_changes(comma=_commented(line, trailing))]
            added = params[count:]
            result += [param.with_changes(comma=line) for param in added[:-1]]
            return [*result, added[-1].with_changes(comma=_uncommented(trailing))]
    result = params[: max(count - 1, 0)]
    if last is not None:
        result.append(last.with_changes(comma=space, whitespace_after_param=cst.SimpleWhitespace("")))
    for index, param in enumerate(params[count:]):
        result.append(param.with_changes(comma=trailing if index == len(params) - count - 1 else space))
    if last is not None:
        result[-1] = result[-1].with_changes(whitespace_after_param=last.whitespace_after_param)
    return result


def _commented(comma: cst.Comma, last: cst.Comma | cst.MaybeSentinel) -> cst.Comma:
    """A comma with a line break, and the comment that stood behind the last parameter."""
    whitespace = last.whitespace_after if isinstance(last, cst.Comma) else None
    if isinstance(whitespace, cst.ParenthesizedWhitespace) and isinstance(
        comma.whitespace_after, cst.ParenthesizedWhitespace
    ):
        return comma.with_changes(
            whitespace_after=comma.whitespace_after.with_changes(first_line=whitespace.first_line)
        )
    return comma


def _uncommented(comma: cst.Comma | cst.MaybeSentinel) -> cst.Comma | cst.MaybeSentinel:
    if isinstance(comma, cst.Comma) and isinstance(comma.whitespace_after, cst.ParenthesizedWhitespace):
        first = comma.whitespace_after.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        return comma.with_changes(whitespace_after=comma.whitespace_after.with_changes(first_line=first))
    return comma
