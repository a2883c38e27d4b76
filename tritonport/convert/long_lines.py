"""Breaking the lines that a conversion made longer than a page is wide.

What the tool wrote is broken at brackets, as formatters do; a line that stands in the source stays as it is, however
long. The broken text must be the same program: it is compared as a syntax tree, and left whole where it is not.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from tritonport.convert.laid_out import laid_out_anew

LIMIT = 120
_OPEN, _CLOSE = "([{", ")]}"
_SPLIT_AT = (("or",), ("and",), ("|",), ("^",), ("&",), ("+", "-"), ("*", "/", "//", "%", "@"))


@dataclass(frozen=True)
class Group:
    """A pair of brackets of one line, by the columns of the brackets."""

    start: int
    end: int


def break_long_lines(text: str, source: str, indent: str = "    ", limit: int = LIMIT) -> str:
    """The converted text with its own long lines broken; `source` is the text before the conversion."""
    lines = text.split("\n")
    known = set(source.split("\n"))
    long = [number for number, line in enumerate(lines, 1) if len(line.rstrip("\r")) > limit and line not in known]
    if not long:
        return text
    for first, last in reversed(_statements(text, len(lines))):
        if any(first <= number <= last for number in long):
            made = _shortened(lines[first - 1 : last], known, indent, limit)
            lines[first - 1 : last] = laid_out_anew(made, known, partial(_broken, step=indent, limit=limit), limit)
    return "\n".join(lines)


def _statements(text: str, last: int) -> list[tuple[int, int]]:
    """The first and last lines of every statement of a file; the whole file where two share a line."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return [(1, last)]
    found = []
    for statement in body:
        decorators = getattr(statement, "decorator_list", [])
        first = min(node.lineno for node in (statement, *decorators))
        found.append((first, statement.end_lineno or first))
    apart = all(before[1] < after[0] for before, after in pairwise(found))
    return found if apart else [(1, last)]


def _shortened(lines: list[str], known: set[str], indent: str, limit: int) -> list[str]:
    """The lines of one statement, or of several, with the long ones broken; each stands at the margin."""
    lines = list(lines)
    whole = set(_whole_lines("\n".join(lines)))
    for number in range(len(lines), 0, -1):
        line = lines[number - 1]
        ending = "\r" if line.endswith("\r") else ""
        code = line.rstrip("\r")
        if len(code) <= limit or line in known:
            continue
        if number in whole:
            lines[number - 1 : number] = [made + ending for made in _broken(code, indent, limit)]
            continue
        made = [part + ending for part in _inner(code, indent, limit)]
        if len(made) > 1 and _same("\n".join(lines), "\n".join([*lines[: number - 1], *made, *lines[number:]])):
            lines[number - 1 : number] = made
    return lines


def _inner(line: str, step: str, limit: int) -> list[str]:
    """A line of a statement that the source has on several lines already: one element to a line."""
    code = line.strip()
    balanced = all(code.count(a) == code.count(b) for a, b in zip(_OPEN, _CLOSE, strict=True))
    return _body(code, line[: len(line) - len(line.lstrip())], step, limit) if balanced and "#" not in code else [line]


def _same(before: str, after: str) -> bool:
    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except SyntaxError:
        return False


def _whole_lines(text: str) -> Iterator[int]:
    """The numbers of the lines that are a whole statement or the head of one."""
    first: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT):
                continue
            if token.type == tokenize.NEWLINE:
                if first == token.end[0]:
                    yield first
                first = None
            elif first is None:
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return


def _import(code: str, indent: str, step: str, limit: int) -> list[str] | None:
    """`from m import (a, b)` over several lines; None for another statement."""
    head, found, names = code.partition(" import ")
    if not head.startswith("from ") or not found or "(" in names:
        return None
    whole = f"{indent}{step}{names}"
    inside = [whole] if len(whole) <= limit else [f"{indent}{step}{name.strip()}," for name in names.split(",")]
    return [f"{indent}{head} import (", *inside, f"{indent})"]


def _broken(line: str, step: str, limit: int) -> list[str]:
    code = line.lstrip()
    indent = line[: len(line) - len(code)]
    code, comment = _without_comment(code)
    made = _import(code, indent, step, limit) or _fitting(code, indent, step, limit)
    if not _same_program(code, made):
        return [line]
    return [indent + comment, *made] if comment else made


def _fitting(code: str, indent: str, step: str, limit: int) -> list[str]:
    """`_split`, or what else fits better."""
    made = _split(code, indent, step, limit)
    other = _function(code, indent, step, limit) if _too_long(made, limit) else None
    return other if other is not None and _too_long(other, limit) < _too_long(made, limit) else made


def _too_long(lines: list[str], limit: int) -> int:
    return sum(len(line) > limit for line in lines)


def _function(code: str, indent: str, step: str, limit: int) -> list[str] | None:
    """`name: lambda args: (x if test else y)` with the parts of the condition on lines of their own; None where it is
    none."""
    head = re.match(r"([\w\"' ]+: )?lambda [\w, ]*: ", code)
    if head is None:
        return None
    words = {token.string: token.start[1] for token in _outside(code) if token.string in ("if", "else")}
    bounds = [head.end(), *sorted(column for column in words.values() if column > head.end()), len(code)]
    inner = indent + step
    made = [indent + code[: head.end()] + "("]
    for part in (code[a:b].strip() for a, b in pairwise(bounds)):
        whole = part.startswith(("if ", "else ")) and len(inner) + len(part) > limit
        made += _at_operators(part, inner, step, limit) if whole else _split(part, inner, step, limit)
    return [*made, indent + ")"]


def _outside(code: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a line that stand outside of brackets."""
    depth = 0
    for token in _tokens(code):
        if token.type == tokenize.OP and token.string in _CLOSE:
            depth -= 1
        if depth == 0:
            yield token
        if token.type == tokenize.OP and token.string in _OPEN:
            depth += 1


def _without_comment(code: str) -> tuple[str, str]:
    for token in _tokens(code):
        if token.type == tokenize.COMMENT:
            return code[: token.start[1]].rstrip(), token.string
    return code, ""


def _split(code: str, indent: str, step: str, limit: int) -> list[str]:
    if len(indent) + len(code) <= limit:
        return [indent + code]
    groups, operators, commas = _outline(code)
    breaks = operators | dict.fromkeys(commas, ",")
    fitting = [g for g in groups if len(indent) + g.start + 1 <= limit and len(indent) + len(code) - g.end <= limit]
    group = max(fitting, key=lambda found: found.end - found.start, default=None)
    # What goes on behind the bracket is easier to read in brackets of its own.
    if group is None or group.end - group.start < 2 * len(step) or any(place > group.end for place in breaks):
        bracketed = _in_brackets(code, indent, step, limit, breaks)
        if group is None or len(bracketed) > 1:
            return bracketed
    body = code[group.start + 1 : group.end]
    inner = indent + step
    return [indent + code[: group.start + 1], *_body(body, inner, step, limit), indent + code[group.end :]]


def _body(body: str, indent: str, step: str, limit: int) -> list[str]:
    """What stands between brackets: on one line, one element to a line, or broken at its operators."""
    body = body.strip()
    if len(indent) + len(body) <= limit:
        return [indent + body]
    _, operators, commas = _outline(body)
    if commas:
        bounds = [-1, *commas, len(body)]
        parts = [body[a + 1 : b].strip() for a, b in pairwise(bounds)]
        lines: list[str] = []
        for part in (part for part in parts if part):
            made = _fitting(part, indent, step, limit)
            if len(made[-1]) == limit:
                made = _fitting(part, indent, step, limit - 1)  # there is a comma too
            lines += [*made[:-1], made[-1] + ","]
        return lines
    if operators:
        return _at_operators(body, indent, step, limit)
    return _split(body, indent, step, limit)


def _in_brackets(code: str, indent: str, step: str, limit: int, breaks: dict[int, str]) -> list[str]:
    """An expression without brackets of its own gets some."""
    keyword = re.match(r"(if|elif|while|return) ", code)
    sign = next((column for column, operator in breaks.items() if _assigns(operator)), None)
    if keyword is not None:
        end = keyword.end() - 1
    elif sign is not None:
        end = sign + len(breaks[sign])
    else:
        return [indent + code]
    tail = ":" if code.endswith(":") else ""
    body = code[end : len(code) - len(tail)].strip()
    if not any(column > end for column in breaks) or body.startswith("lambda"):
        return [indent + code]
    return [f"{indent}{code[:end]} (", *_body(body, indent + step, step, limit), f"{indent}){tail}"]


def _assigns(operator: str) -> bool:
    return operator.endswith("=") and operator not in ("==", "!=", "<=", ">=")


def _at_operators(body: str, indent: str, step: str, limit: int) -> list[str]:
    """One operand of the loosest operator to a line, the operator in front of it; what is still too long, again."""
    _, operators, _ = _outline(body)
    for level in _SPLIT_AT:
        places = [column for column, operator in operators.items() if operator in level]
        if places and len(indent) + len(body) > limit:
            bounds = [0, *places, len(body)]
            parts = [body[a:b].strip() for a, b in pairwise(bounds)]
            return [line for part in parts for line in _at_operators(part, indent, step, limit)]
    return _in_its_bracket(body, indent, step, limit)


def _in_its_bracket(code: str, indent: str, step: str, limit: int) -> list[str]:
    """One operand that is too long: broken in its longest bracket, whatever goes on behind it."""
    groups, _, _ = _outline(code)
    fitting = [g for g in groups if len(indent) + g.start + 1 <= limit and g.end - g.start > 2 * len(step)]
    group = max(fitting, key=lambda found: found.end - found.start, default=None)
    if group is None or len(indent) + len(code) <= limit:
        return [indent + code]
    body = code[group.start + 1 : group.end]
    return [indent + code[: group.start + 1], *_body(body, indent + step, step, limit), indent + code[group.end :]]


def _outline(code: str) -> tuple[list[Group], dict[int, str], list[int]]:
    """The outermost brackets of a line, its operators outside of brackets by column, and its commas there."""
    groups: list[Group] = []
    operators: dict[int, str] = {}
    commas: list[int] = []
    depth = start = 0
    before: tokenize.TokenInfo | None = None
    for token in _tokens(code):
        column = token.start[1]
        if token.string in _OPEN and token.type == tokenize.OP:
            if depth == 0:
                start = column
            depth += 1
        elif token.string in _CLOSE and token.type == tokenize.OP:
            depth -= 1
            if depth == 0:
                groups.append(Group(start, column))
        elif depth == 0 and token.string == ",":
            commas.append(column)
        elif depth == 0 and _is_operator(token, before):
            operators[column] = token.string
        before = token
    return groups, operators, commas


def _is_operator(token: tokenize.TokenInfo, before: tokenize.TokenInfo | None) -> bool:
    """Whether a line may be broken in front of a token; a sign belongs to what follows."""
    if before is None or token.string in (".", ":"):
        return False
    sign = before.type == tokenize.OP and before.string not in _CLOSE
    return not sign and (token.type == tokenize.OP or token.string in ("and", "or"))


def _tokens(code: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of one line; it need not be a whole statement."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type not in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT):
                yield token
    except (tokenize.TokenError, SyntaxError):
        return


def _same_program(code: str, lines: list[str]) -> bool:
    joined = "\n".join(lines).strip()
    frames = ("{}", "{}\n    pass", "if x:\n    pass\n{}\n    pass", "{}\ndef f():\n    pass")
    for frame in frames:
        try:
            before = ast.dump(ast.parse(frame.format(code)))
        except SyntaxError:
            continue
        try:
            return before == ast.dump(ast.parse(frame.format(joined)))
        except SyntaxError:
            return False
    return False


__all__ = ["LIMIT", "break_long_lines"]
