"""Index ranges of loops, made before the loop.

Triton's compiler moves what a loop does not change out of it (MLIR's `loop-invariant-code-motion`); Gluon leaves
everything where it is written. LLVM moves it too, but only after it has folded `start + arange(...)` into other sums,
which cost up to 24 registers more where tiles of dots take the rest (backward of attention on sm_90), and a few where
several loops go over the columns of a row, each with a range of its own (LayerNorm on sm_90: 36 for 32). A loop that is
alone and has no dots keeps its ranges: its registers are as few, and fewer on Triton 3.6 (Welford: 72 for 80).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from tritonport.source.walk import assigned_names, children, walk

Loop = cst.For | cst.While


def ranges_before(
    loop: Loop, fresh: Callable[[str], str], moves: Callable[[str], bool]
) -> tuple[list[cst.BaseStatement], Loop]:
    """The index ranges in a written loop's body as lines to stand before it, and the loop that reads them there.

    What an `if` in the loop does stays in it: a range may be one for some values of a constexpr alone.

    fresh: a name for a range, from the one that is wanted. moves: whether a variable that is a range, and nothing
    else, may be assigned before the loop.
    """
    if not isinstance(loop.body, cst.IndentedBlock):
        return [], loop
    changed = set(assigned_names(loop.body))
    if isinstance(loop, cst.For):
        changed |= {name.value for name in walk(loop.target) if isinstance(name, cst.Name)}
    made: dict[str, str] = {}
    moved: list[cst.SimpleStatementLine] = []
    kept: list[cst.BaseStatement] = []
    for line in loop.body.body:
        assignment = _assignment(line)
        ranges = [node for node in walk(assignment.value) if _is_range(node, changed)] if assignment else []
        if assignment is None or not ranges:
            kept.append(line)
            continue
        assert isinstance(line, cst.SimpleStatementLine)
        target = cst.ensure_type(assignment.targets[0].target, cst.Name).value
        if ranges[0] is assignment.value:
            (moved if moves(target) else kept).append(line)
            continue
        for node in ranges:
            text = text_of(node)
            if text not in made:
                made[text] = fresh(f"{target}_in_block")
                moved.append(line_of(made[text], node))
            line = cst.ensure_type(line.deep_replace(node, cst.Name(made[text])), cst.SimpleStatementLine)
        kept.append(line)
    if not moved:
        return [], loop
    blank, comments = leading(loop.leading_lines)
    lines = [line.with_changes(leading_lines=leading(line.leading_lines)[1]) for line in moved]
    lines[0] = lines[0].with_changes(leading_lines=[*blank, *lines[0].leading_lines])
    if moved[0] is loop.body.body[0]:
        # The next line is the first one now: no blank line parts it from the head of the loop.
        kept[0] = kept[0].with_changes(leading_lines=leading(getattr(kept[0], "leading_lines", ()))[1])
    return list(lines), loop.with_changes(leading_lines=comments, body=loop.body.with_changes(body=kept))


def loops_alike(function: cst.CSTNode) -> set[Loop]:
    """The loops of a source function in which a range stands that stands in another one too, not inside of it."""
    found: dict[str, dict[Loop, None]] = {}
    work: list[tuple[cst.CSTNode, Loop | None]] = [(function, None)]
    while work:
        node, loop = work.pop()
        if loop is not None and isinstance(node, cst.Call) and _name(node) == "arange":
            found.setdefault(text_of(node), {})[loop] = None
        inner = node if isinstance(node, (cst.For, cst.While)) else loop
        work += [(child, inner) for child in children(node)]
    return {loop for loops in found.values() if len(loops) > 1 for loop in loops}


def _assignment(line: cst.BaseStatement) -> cst.Assign | None:
    """`x = ...` where a line is that and nothing else."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    small = line.body[0]
    single = isinstance(small, cst.Assign) and len(small.targets) == 1
    return small if isinstance(small, cst.Assign) and single and isinstance(small.targets[0].target, cst.Name) else None


def _is_range(node: cst.CSTNode, changed: set[str]) -> bool:
    """Whether a node is `gl.arange(..., layout=...)` of what the loop does not change."""
    if not isinstance(node, cst.Call):
        return False
    laid_out = any(argument.keyword is not None and argument.keyword.value == "layout" for argument in node.args)
    read = {part.value for part in walk(node) if isinstance(part, cst.Name)}
    return _name(node) == "arange" and laid_out and not read & changed


def _name(call: cst.Call) -> str:
    """The last name of what is called."""
    name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return name.value if isinstance(name, cst.Name) else ""


def text_of(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def line_of(name: str, value: cst.CSTNode) -> cst.SimpleStatementLine:
    assert isinstance(value, cst.BaseExpression)
    return cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(cst.Name(name))], value)])


def leading(lines: Sequence[cst.EmptyLine]) -> tuple[list[cst.EmptyLine], list[cst.EmptyLine]]:
    """The blank lines above a statement, and the comments from the first one on."""
    first = next((place for place, line in enumerate(lines) if line.comment is not None), len(lines))
    return list(lines[:first]), list(lines[first:])


__all__ = ["Loop", "leading", "line_of", "loops_alike", "ranges_before", "text_of"]
