"""Statements of a loop as a function of their own, so that a first iteration before the loop does not repeat them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.walk import walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.file_edit import alias
from tritonport.upgrade.liveness import live_at_end, read_first
from tritonport.upgrade.mma.rings import LoopText
from tritonport.upgrade.mma.spelling import names_assigned
from tritonport.upgrade.slices import read_names

LONGEST_REPEATED = 4
"""Statements that are written twice rather than as a function."""


@dataclass(frozen=True)
class Extracted:
    """A function, and the statement that calls it."""

    function: cst.FunctionDef
    call: cst.BaseStatement


def extracted(loop: LoopText, places: Sequence[int], name: str, module: cst.Module) -> Extracted | None:
    """The statements of the loop at `places` as a function; None where they are few, or give nothing.

    A variable that they assign in a branch alone comes in as what it was; without a value there is no function.
    """
    lines = [loop.body[place] for place in places]
    if len(lines) <= LONGEST_REPEATED:
        return None
    results = _results(loop, places)
    kept = set(results) - _made(lines)
    if not results or not kept <= _known_before(loop, places[0]):
        return None
    constants = _constants(loop)
    gl = _annotation(loop)
    given = _parameters(loop, places, kept)
    parameters = ", ".join(f"{one}: {gl}" if one in constants else one for one in given)
    returned = ", ".join(results)
    kernel = loop.function.name.value
    gluon = _decorator(loop)
    head = cst.parse_statement(
        f'@{gluon}\ndef {name}({parameters}):\n    """What an iteration of {kernel} computes between its dots."""\n'
        f"    return {returned}\n",
        module.config_for_parsing,
    )
    assert isinstance(head, cst.FunctionDef) and isinstance(head.body, cst.IndentedBlock)
    docstring, answer = head.body.body
    function = head.with_changes(
        body=head.body.with_changes(body=[docstring, *lines, answer]),
        leading_lines=[cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)],
    )
    call = cst.parse_statement(f"{returned} = {name}({', '.join(given)})\n", module.config_for_parsing)
    assert isinstance(call, cst.SimpleStatementLine)
    return Extracted(function, call)


def _results(loop: LoopText, places: Sequence[int]) -> list[str]:
    """What the statements assign and others read, in the order of the assignments."""
    others = (line for place, line in enumerate(loop.body) if place not in places)
    # Of what stands outside of the loop, and in its next iterations, what is assigned there first does not count.
    read = live_at_end(loop.function, loop.original).union(*(read_names(line) for line in others))
    made = [name for place in places for name in sorted(names_assigned(loop.body[place]))]
    return [name for name in dict.fromkeys(made) if name in read]


def _parameters(loop: LoopText, places: Sequence[int], kept: set[str]) -> list[str]:
    """The variables that the statements read, or may leave as they were, in the order in which they name them."""
    lines = [loop.body[place] for place in places]
    exposed = read_first(lines) | kept
    known = _known_before(loop, places[0])
    order = [node.value for line in lines for node in walk(line) if isinstance(node, cst.Name)]
    return [name for name in dict.fromkeys(order) if name in exposed and name in known]


def _made(lines: Sequence[cst.BaseStatement]) -> set[str]:
    """The variables that statements assign whatever happens: in both branches of an `if`, or outside of branches."""
    found: set[str] = set()
    for line in lines:
        if isinstance(line, cst.SimpleStatementLine):
            found |= names_assigned(line)
        elif isinstance(line, cst.If) and line.orelse is not None:
            found |= _made_by(line.body) & _made_by(line.orelse)
    return found


def _made_by(branch: cst.BaseSuite | cst.If | cst.Else) -> set[str]:
    if isinstance(branch, cst.If):
        return _made([branch])
    block = branch.body if isinstance(branch, cst.Else) else branch
    return _made(list(block.body)) if isinstance(block, cst.IndentedBlock) else set()


def _known_before(loop: LoopText, first: int) -> set[str]:
    """The variables of the function that have a value when a statement of the loop begins."""
    parameters = {one.name.value for one in loop.function.params.params}
    parameters |= {one.name.value for one in loop.function.params.kwonly_params}
    inside = {id(node) for node in walk(loop.original)}
    outside = (node for node in walk(loop.function.body) if id(node) not in inside)
    lines = [node for node in outside if isinstance(node, cst.SimpleStatementLine)]
    targets = {
        node.target.value
        for node in walk(loop.function.body)
        if isinstance(node, cst.For) and isinstance(node.target, cst.Name)
    }
    before = set().union(*(names_assigned(line) for line in [*lines, *loop.body[:first]]), set())
    return parameters | targets | before


def _constants(loop: LoopText) -> set[str]:
    """The parameters and variables of the function that are known at compile time."""
    module = loop.reader.module
    annotated = [(one.name.value, one.annotation) for one in loop.function.params.params]
    lines = (node for node in walk(loop.function.body) if isinstance(node, cst.AnnAssign))
    assigned = [(code(node.target), node.annotation) for node in lines]
    return {name for name, said in [*annotated, *assigned] if said is not None and module.is_constexpr(said.annotation)}


def _annotation(loop: LoopText) -> str:
    return f"{alias(loop.reader.module, 'triton.experimental.gluon.language', 'gl')}.constexpr"


def _decorator(loop: LoopText) -> str:
    return f"{alias(loop.reader.module, 'triton.experimental.gluon', 'gluon')}.jit"


__all__ = ["Extracted", "extracted"]
