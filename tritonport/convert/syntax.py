"""Nodes of the syntax tree as an author would lay them out: commas, brackets, lines, and what stands above them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.report.comments import ignored_codes, note_code

_COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
_NOTHING = cst.SimpleWhitespace("")


def separated(arguments: Sequence[cst.Arg]) -> list[cst.Arg]:
    """Arguments with `, ` between them."""
    return [
        argument.with_changes(comma=_COMMA if index + 1 < len(arguments) else cst.MaybeSentinel.DEFAULT)
        for index, argument in enumerate(arguments)
    ]


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    """`name=value`."""
    tight = cst.SimpleWhitespace("")
    return cst.Arg(value, keyword=cst.Name(name), equal=cst.AssignEqual(tight, tight))


def join_arguments(arguments: Sequence[cst.Arg], extra: Sequence[cst.Arg]) -> list[cst.Arg]:
    """`extra` after the author's arguments, in the author's own line breaking."""
    if not extra:
        return list(arguments)
    result = list(arguments)
    between = _one_to_a_line(result)
    if result:
        last = result[-1]
        broken = isinstance(last.comma, cst.Comma) and isinstance(
            last.comma.whitespace_after, cst.ParenthesizedWhitespace
        )
        after = last.whitespace_after_arg
        behind = last.comma.whitespace_after if broken and isinstance(last.comma, cst.Comma) else after
        comma, end = last.comma if broken else cst.MaybeSentinel.DEFAULT, after
        if between is not None:
            # Its comment stays behind the last argument of the author.
            result[-1] = last.with_changes(comma=commented(between, behind), whitespace_after_arg=_NOTHING)
            comma = without_comment(comma)
            end = uncommented(after)
        else:
            # The call is spread over lines some other way: what is added stays on the last argument's line.
            result[-1] = last.with_changes(comma=_COMMA, whitespace_after_arg=_NOTHING)
        added = [argument.with_changes(comma=between or _COMMA) for argument in extra[:-1]]
        return [*result, *added, extra[-1].with_changes(comma=comma, whitespace_after_arg=end)]
    return [argument.with_changes(comma=_COMMA) for argument in extra[:-1]] + [extra[-1]]


def _one_to_a_line(arguments: Sequence[cst.Arg]) -> cst.Comma | None:
    """The comma and line break between arguments that stand one to a line; None for a call of another form."""
    commas = [one.comma for one in arguments[:-1] if isinstance(one.comma, cst.Comma)]
    if not commas or not all(isinstance(one.whitespace_after, cst.ParenthesizedWhitespace) for one in commas):
        return None
    return commas[-1].with_changes(whitespace_after=uncommented(commas[-1].whitespace_after))


def commented(comma: cst.Comma, behind: cst.BaseParenthesizableWhitespace) -> cst.Comma:
    """A comma and line break, with the comment of another line break, which the last element had behind it."""
    space = comma.whitespace_after
    if isinstance(behind, cst.ParenthesizedWhitespace) and isinstance(space, cst.ParenthesizedWhitespace):
        return comma.with_changes(whitespace_after=space.with_changes(first_line=behind.first_line))
    return comma


def uncommented(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """The same line break without the comment in front of it."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    return space.with_changes(first_line=space.first_line.with_changes(comment=None, whitespace=_NOTHING))


def without_comment(comma: cst.Comma | cst.MaybeSentinel) -> cst.Comma | cst.MaybeSentinel:
    """The same comma without the comment behind it."""
    if isinstance(comma, cst.Comma):
        return comma.with_changes(whitespace_after=uncommented(comma.whitespace_after))
    return comma


def element(model: cst.BaseElement, value: cst.BaseExpression, more: bool) -> cst.BaseElement:
    """A value in the place of an element of a tuple; with `more`, further ones follow in that place."""
    return cst.Element(value, comma=_COMMA) if more else model.with_changes(value=value)


def pad(node: cst.BaseExpression, added: int, rank: int) -> cst.BaseExpression:
    """`x[None, :]`: what Triton's broadcasting does without saying it."""
    none = cst.Index(cst.Name("None"))
    everything = cst.Slice(lower=None, upper=None)
    slices: list[cst.BaseSlice] = [none] * added + [everything] * rank
    elements = [
        cst.SubscriptElement(
            part,
            comma=_COMMA if index + 1 < len(slices) else cst.MaybeSentinel.DEFAULT,
        )
        for index, part in enumerate(slices)
    ]
    return cst.Subscript(value=receiver(node), slice=elements)


def receiver(node: cst.BaseExpression) -> cst.BaseExpression:
    """A node that a dot or a bracket can follow."""
    if isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or getattr(node, "lpar", None):
        return node
    return in_parentheses(node)


def operand(node: cst.BaseExpression) -> cst.BaseExpression:
    """A node that can stand beside an operator."""
    return node if isinstance(node, (cst.Integer, cst.Float)) else receiver(node)


def in_parentheses(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def transposed(tile: cst.BaseExpression) -> cst.Call:
    """The transpose of a tile in shared memory, which is a view of it."""
    return cst.Call(cst.Attribute(tile, cst.Name("permute")), [cst.Arg(cst.parse_expression("(1, 0)"))])


def assignment(name: str, value: cst.BaseExpression) -> cst.Assign:
    return cst.Assign([cst.AssignTarget(cst.Name(name))], value)


def one_per_line(line: cst.SimpleStatementLine, small: list[cst.BaseSmallStatement]) -> list[cst.BaseStatement]:
    """One statement per line; the comment above stays above the first, the one behind stays behind the last."""
    result: list[cst.BaseStatement] = []
    for index, statement in enumerate(small):
        statement = statement.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        changes: dict[str, object] = {"body": [statement]}
        if index:
            changes["leading_lines"] = []
        if index + 1 < len(small):
            changes["trailing_whitespace"] = cst.TrailingWhitespace()
        result.append(line.with_changes(**changes))
    return result


def after_docstring(statements: Sequence[cst.BaseStatement]) -> int:
    if statements and isinstance(statements[0], cst.SimpleStatementLine):
        first = statements[0].body[0]
        if isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString)):
            return 1
    return 0


def starts_with_blank(statement: cst.BaseStatement) -> bool:
    lines: list[cst.EmptyLine] = list(getattr(statement, "leading_lines", ()))
    return bool(lines) and lines[0].comment is None


def blank_before(statement: cst.BaseStatement) -> cst.BaseStatement:
    lines = list(getattr(statement, "leading_lines", ()))
    return statement.with_changes(leading_lines=[cst.EmptyLine(indent=False), *lines])


def without_notes(statement: cst.BaseStatement) -> list[cst.EmptyLine]:
    """The lines above a statement without the notes of an earlier run."""
    lines = getattr(statement, "leading_lines", ())
    return [line for line in lines if line.comment is None or note_code(line.comment.value) is None]


def ignored_at(statement: cst.BaseStatement) -> frozenset[str]:
    """What the comments above and behind a statement ask not to be told."""
    comments = [line.comment.value for line in getattr(statement, "leading_lines", ()) if line.comment is not None]
    trailing: cst.TrailingWhitespace | None = getattr(statement, "trailing_whitespace", None)
    if isinstance(statement, (cst.For, cst.While, cst.If)) and isinstance(statement.body, cst.IndentedBlock):
        trailing = statement.body.header
    if trailing is not None and trailing.comment is not None:
        comments.append(trailing.comment.value)
    return frozenset(code for comment in comments for code in ignored_codes(comment))
