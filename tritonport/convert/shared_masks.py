"""Parts of a store's mask that a load above a dot has too, made before that load.

Triton's compiler computes an expression once, where it is first written, and in another layout beside it. Gluon leaves
the mask of a store behind the dot, where ptxas keeps what it is made of in registers beside the sums: 62 registers for
51 in a dot of small batches on sm_90, whose masks begin with the batch and the rows in loads and stores alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.convert.names import stem
from tritonport.convert.sinking import names_bound, names_read
from tritonport.convert.staging import has_dot, loaded_tile
from tritonport.source.walk import walk

Written = tuple[cst.BaseStatement, list[cst.BaseStatement]]
"""A statement of the source, and what it is written as."""


def masks_before(
    block: Sequence[Written], frames: list[Frame], fresh: Callable[[str], str]
) -> list[list[cst.BaseStatement]]:
    """What the statements of a block are written as, where the beginning of a store's mask (`a & b` of `a & b & c`),
    word for word, is in the mask of a tile that is loaded above a dot: as a variable that is made before the load.

    fresh: a name for it, from the one that is wanted.
    """
    written = [list(lines) for _, lines in block]
    sources = [line for line, _ in block]
    dots = [has_dot(line, frames) for line in sources]
    for place, line in enumerate(sources):
        call = _store(line, frames) if any(dots[:place]) else None
        mask = _mask(call) if call is not None else None
        for depth, part in _beginnings(mask) if mask is not None else ():
            start = _first_load(part, sources[:place], frames)
            if start is None or not any(dots[start:place]):
                continue
            moved = _taken_out(written[place], depth, fresh)
            if moved is None:
                break
            name, value, lines = moved
            between = [*sources[start:place], *(other for group in written[start:place] for other in group)]
            bound = {assigned for other in between for assigned in names_bound(other)}
            if bound.isdisjoint(names_read(part) | names_read(value)):
                written[place] = lines
                written[start] = _above(written[start], name, value)
            break
    return written


def _store(line: cst.BaseStatement, frames: Sequence[Frame]) -> cst.Call | None:
    """The call where a statement is `tl.store(...)` and nothing else."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or not isinstance(line.body[0], cst.Expr):
        return None
    call = line.body[0].value
    stores = isinstance(call, cst.Call) and any(frame.operations.get(call) == "store" for frame in frames)
    return call if isinstance(call, cst.Call) and stores else None


def _mask(call: cst.Call) -> cst.BaseExpression | None:
    return next((each.value for each in call.args if each.keyword is not None and each.keyword.value == "mask"), None)


def _beginnings(mask: cst.BaseExpression) -> Iterator[tuple[int, cst.BinaryOperation]]:
    """The conjunctions that a mask begins with, longest first, and how many operands follow each."""
    depth = 0
    while isinstance(mask, cst.BinaryOperation) and isinstance(mask.operator, cst.BitAnd):
        yield depth, mask
        mask, depth = mask.left, depth + 1


def _first_load(part: cst.BinaryOperation, lines: Sequence[cst.BaseStatement], frames: list[Frame]) -> int | None:
    for place, line in enumerate(lines):
        if loaded_tile(line, frames) is not None and any(part.deep_equals(node) for node in walk(line)):
            return place
    return None


def _taken_out(
    lines: list[cst.BaseStatement], depth: int, fresh: Callable[[str], str]
) -> tuple[str, cst.BinaryOperation, list[cst.BaseStatement]] | None:
    """A name, what it stands for, and a written store that reads it; None where the store is written otherwise."""
    store = lines[-1]
    calls = [node for node in walk(store) if isinstance(node, cst.Call) and _mask(node) is not None]
    mask = _mask(calls[0]) if len(calls) == 1 else None
    part = dict(_beginnings(mask)).get(depth) if mask is not None else None
    if not isinstance(store, cst.SimpleStatementLine) or part is None:
        return None
    if any(isinstance(node, cst.Call) for node in walk(part)):
        return None
    pointer = next((node.value for node in walk(calls[0].args[0].value) if isinstance(node, cst.Name)), "store")
    name = fresh(f"{stem(pointer)}_mask")
    replaced = cst.ensure_type(store.deep_replace(part, cst.Name(name)), cst.SimpleStatementLine)
    return name, part.with_changes(lpar=[], rpar=[]), [*lines[:-1], replaced]


def _above(lines: list[cst.BaseStatement], name: str, value: cst.BaseExpression) -> list[cst.BaseStatement]:
    """The lines of a load with `name = value` before them, which takes the blank lines above them."""
    first = cst.ensure_type(lines[0], cst.SimpleStatementLine)
    leading = first.leading_lines
    comments = next((place for place, line in enumerate(leading) if line.comment is not None), len(leading))
    assigned = cst.Assign([cst.AssignTarget(cst.Name(name))], value)
    made = cst.SimpleStatementLine([assigned], leading_lines=leading[:comments])
    return [made, first.with_changes(leading_lines=leading[comments:]), *lines[1:]]
