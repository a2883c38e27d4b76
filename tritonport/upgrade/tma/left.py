"""Copied tiles that are computed with before a dot takes them as its left operand.

Such a tile needs no layout of memory once a descriptor copies it. In the one of a left operand it goes from shared
memory to the registers that tensor cores read, and what is made of it is there already; in any other, each iteration
would write it to shared memory again. So does Triton's compiler (`hoistConvertDotOperand` of its
RemoveLayoutConversions.cpp, and the pipeliner's `local_load`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tritonport.source.walk import assigned_names, replaced, walk
from tritonport.upgrade.dots import called, is_dot, is_written_dot, reads_of, role_of
from tritonport.upgrade.edit import code
from tritonport.upgrade.tma.edges import ELEMENTWISE

_MADE = re.compile(r"coalesced(_\d+)?")
_RESULT = re.compile(r"mma_layout(_\d+)?")


def with_left_layouts(node: cst.FunctionDef, helper: str) -> cst.FunctionDef:
    """The form with copies, with such layouts chosen by the dots; `helper`: what the file calls `left_layout`."""
    assert isinstance(node.body, cst.IndentedBlock)
    for line in node.body.body:
        defined = _defined(line)
        if defined is None or not _MADE.fullmatch(called(defined[1])) or not _is_matrix(defined[1]):
            continue
        result = _dot_of(node, defined[0])
        made = next(
            (one for one in node.body.body if result is not None and (_defined(one) or ("",))[0] == result), None
        )
        whole = _defined(made) if made is not None else None
        if (
            made is None
            or whole is None
            or not isinstance(whole[1], cst.Call)
            or not _RESULT.fullmatch(called(whole[1]))
        ):
            continue
        text = f"{helper}({result}, {code(whole[1].args[2].value)}, {code(defined[1])})"
        anew = replaced(line, {defined[1]: cst.parse_expression(text)})
        lines = [one for one in node.body.body if one is not line]
        place = max(lines.index(made) + 1, node.body.body.index(line))
        node = node.with_changes(body=node.body.with_changes(body=[*lines[:place], anew, *lines[place:]]))
        assert isinstance(node.body, cst.IndentedBlock)
    return node


def _defined(line: cst.BaseStatement) -> tuple[str, cst.BaseExpression] | None:
    """Name and expression of a line at the head of a kernel, `x: gl.constexpr = ...`."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.AnnAssign) or small.value is None or not isinstance(small.target, cst.Name):
        return None
    return small.target.value, small.value


def _is_matrix(call: cst.BaseExpression) -> bool:
    shape = call.args[0].value if isinstance(call, cst.Call) and call.args else None
    return isinstance(shape, cst.List) and len(shape.elements) == 2


def _dot_of(node: cst.FunctionDef, layout: str) -> str | None:
    """The layout of the result of the dot that takes what is read in a layout, or made of it, as its left operand, and
    nothing else does; None where that is not so."""
    axes: set[str] = set()
    reads: list[cst.Call] = []
    known = 0
    for call in (one for one in walk(node.body) if isinstance(one, cst.Call)):
        values = [code(one.value) for one in call.args]
        if called(call) == "load" and values == [layout]:
            reads.append(call)
        elif called(call) == "SliceLayout" and values[1:] == [layout]:
            axes.add(values[0])
        else:
            continue
        known += 1
    uses = sum(isinstance(one, cst.Name) and one.value == layout for one in walk(node.body)) - 1
    # Vectors along both axes may be the address of a tile, which is read from memory then.
    if not reads or known != uses or len(axes) > 1:
        return None
    loops = [
        one for one in walk(node.body) if isinstance(one, cst.For) and any(call in set(walk(one)) for call in reads)
    ]
    loop = loops[-1] if loops else None
    if loop is None or not isinstance(loop.body, cst.IndentedBlock):
        return None
    return _taken(node, loop, reads)


def _taken(node: cst.FunctionDef, loop: cst.For, reads: list[cst.Call]) -> str | None:
    """The same of the tiles that the statements of one loop read."""
    assert isinstance(loop.body, cst.IndentedBlock)
    dots = [one for one in walk(loop.body) if is_dot(one)]
    if len([one for one in dots if is_written_dot(one)]) != 1:
        return None
    derived: set[str] = set()
    found: str | None = None
    left = list(reads)
    for line in loop.body.body:
        own = [call for call in left if call in set(walk(line))]
        read = own or any(reads_of(line, name) for name in derived)
        if not read:
            derived -= set(assigned_names(cst.IndentedBlock([line])))
            continue
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if not isinstance(small, (cst.Assign, cst.AugAssign)):
            return None
        target = small.target if isinstance(small, cst.AugAssign) else small.targets[0].target
        if not isinstance(target, cst.Name) or (isinstance(small, cst.Assign) and len(small.targets) != 1):
            return None
        dot = next((one for one in dots if one in set(walk(small.value))), None)
        if dot is not None:
            if own or dot is not small.value or not isinstance(dot, cst.Call) or not _is_left_alone(dot, derived):
                return None
            found = role_of(dot, 0, node).result
            continue
        if not _is_elementwise(small.value, own):
            return None
        left = [call for call in left if call not in own]
        derived.add(target.value)
    inside = {id(one) for one in walk(loop)}
    outside = [one.value for one in walk(node.body) if isinstance(one, cst.Name) and id(one) not in inside]
    return found if not left and not derived & set(outside) else None


def _is_left_alone(dot: cst.Call, derived: set[str]) -> bool:
    values = [one.value for one in dot.args]
    others = any(reads_of(cst.Expr(value), name) for value in values[1:] for name in derived)
    return not others and is_written_dot(dot) and _is_elementwise(values[0], [])


def _is_elementwise(node: cst.BaseExpression, reads: list[cst.Call]) -> bool:
    """Whether an expression computes each element for itself, apart from what it reads."""
    inside = {id(one) for read in reads for one in walk(read)}
    calls = [one for one in _calls(node) if id(one) not in inside]
    return all(called(one) in ELEMENTWISE and called(one) != "convert_layout" for one in calls)


def _calls(node: cst.CSTNode) -> Iterator[cst.Call]:
    return (one for one in walk(node) if isinstance(one, cst.Call))


__all__ = ["with_left_layouts"]
