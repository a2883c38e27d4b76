"""Parts of masks and indices that a loop does not change, made before the loop.

`mask = (rows < M) & (cols < N)`, of which a loop changes the rows alone: Triton's compiler moves the other comparison
out of it (MLIR's `loop-invariant-code-motion`). LLVM moves it too, but has merged the two by then.

`cols = start + base`, where `start` has 64 bits and `base` is a range: so it is with the range's other 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

import libcst as cst

from tritonport.convert.ranges import Loop, leading, line_of, text_of
from tritonport.source.walk import assigned_names, walk


def fixed_masks(
    loop: Loop, fresh: Callable[[str], str], is_tile: Callable[[str], bool]
) -> tuple[list[cst.BaseStatement], Loop]:
    """Such comparisons in a written loop's body as lines to stand before it, and the loop that reads them there.

    fresh: a name for a mask, from the one that is wanted. is_tile: whether a variable is a tensor.
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
        if isinstance(line, cst.SimpleStatementLine):
            for both in [node for node in walk(line) if _is_both(node)]:
                fixed = [side for side in (both.left, both.right) if _is_fixed(side, changed, is_tile)]
                if len(fixed) != 1 or not _is_comparison(both.left) or not _is_comparison(both.right):
                    continue
                text = text_of(fixed[0].with_changes(lpar=[], rpar=[]))
                if text not in made:
                    first = next(node.value for node in walk(fixed[0]) if isinstance(node, cst.Name))
                    made[text] = fresh(f"{first}_mask")
                    moved.append(line_of(made[text], fixed[0].with_changes(lpar=[], rpar=[])))
                line = cst.ensure_type(line.deep_replace(fixed[0], cst.Name(made[text])), cst.SimpleStatementLine)
        kept.append(line)
    return _parted(moved, loop, loop.body, kept)


def wide_ranges(
    loop: cst.For, fresh: Callable[[str], str], is_range: Callable[[str], bool], gl: str
) -> tuple[list[cst.BaseStatement], cst.For]:
    """Ranges that are added to the 64-bit index of a written loop, as 64-bit ones before it, and the loop that reads
    them.

    fresh: a name for a range, from the one that is wanted. is_range: whether a variable is a range of 32 bits.
    """
    if not isinstance(loop.body, cst.IndentedBlock) or not isinstance(loop.target, cst.Name):
        return [], loop
    index = loop.target.value
    changed = {index, *assigned_names(loop.body)}
    made: dict[str, str] = {}
    moved: list[cst.SimpleStatementLine] = []
    kept: list[cst.BaseStatement] = []
    for line in loop.body.body:
        if isinstance(line, cst.SimpleStatementLine):
            for node in [node for node in walk(line) if _is_sum_with(node, index)]:
                other = node.left if isinstance(node.right, cst.Name) and node.right.value == index else node.right
                if not isinstance(other, cst.Name) or other.value in changed or not is_range(other.value):
                    continue
                if other.value not in made:
                    made[other.value] = fresh(f"{other.value}_wide")
                    moved.append(line_of(made[other.value], cst.parse_expression(f"{other.value}.to({gl}.int64)")))
                line = cst.ensure_type(
                    line.deep_replace(other, other.with_changes(value=made[other.value])), cst.SimpleStatementLine
                )
        kept.append(line)
    lines, written = _parted(moved, loop, loop.body, kept)
    return lines, cst.ensure_type(written, cst.For)


def _parted(
    moved: list[cst.SimpleStatementLine], loop: Loop, body: cst.IndentedBlock, kept: list[cst.BaseStatement]
) -> tuple[list[cst.BaseStatement], Loop]:
    """The lines that stand before a loop, below the blank lines that it had above it, and the loop."""
    if not moved:
        return [], loop
    blank, comments = leading(loop.leading_lines)
    moved[0] = moved[0].with_changes(leading_lines=blank)
    return list(moved), loop.with_changes(leading_lines=comments, body=body.with_changes(body=kept))


def _is_sum_with(node: cst.CSTNode, index: str) -> TypeGuard[cst.BinaryOperation]:
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Add):
        return False
    return any(isinstance(side, cst.Name) and side.value == index for side in (node.left, node.right))


def _is_both(node: cst.CSTNode) -> TypeGuard[cst.BinaryOperation]:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitAnd)


def _is_comparison(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Comparison) and len(node.comparisons) == 1


def _is_fixed(node: cst.BaseExpression, changed: set[str], is_tile: Callable[[str], bool]) -> bool:
    names = {part.value for part in walk(node) if isinstance(part, cst.Name)}
    calls = any(isinstance(part, cst.Call) for part in walk(node))
    return _is_comparison(node) and not calls and not names & changed and any(is_tile(name) for name in names)


__all__ = ["fixed_masks", "wide_ranges"]
