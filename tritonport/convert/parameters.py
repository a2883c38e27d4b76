"""The parameters of a function with more behind them, laid out as the source has its own."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.convert.syntax import commented, uncommented, without_comment

_NOTHING = cst.SimpleWhitespace("")


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
    # Without a comma behind the last one, its comment and the line break belong to the parameter itself.
    after = last.whitespace_after_param if last is not None else cst.SimpleWhitespace("")
    if count > 1 and isinstance(params[0].comma, cst.Comma):
        broken = params[count - 2].comma
        if isinstance(broken, cst.Comma) and isinstance(broken.whitespace_after, cst.ParenthesizedWhitespace):
            # One parameter to a line: the new ones stand on lines of their own too.
            line = broken.with_changes(whitespace_after=uncommented(broken.whitespace_after))
            behind = trailing.whitespace_after if isinstance(trailing, cst.Comma) else after
            first = params[count - 1].with_changes(comma=commented(line, behind), whitespace_after_param=_NOTHING)
            added = params[count:]
            end = added[-1].with_changes(comma=without_comment(trailing), whitespace_after_param=uncommented(after))
            return [
                *params[: count - 1],
                first,
                *(param.with_changes(comma=line) for param in added[:-1]),
                end,
            ]
    result = params[: max(count - 1, 0)]
    if last is not None:
        result.append(last.with_changes(comma=space, whitespace_after_param=_NOTHING))
    for index, param in enumerate(params[count:]):
        result.append(param.with_changes(comma=trailing if index == len(params) - count - 1 else space))
    if last is not None:
        result[-1] = result[-1].with_changes(whitespace_after_param=after)
    return result
