"""Whether a ring is filled before the loop as it is in the loop: then the last place can be left to the first
iteration."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

import libcst as cst

from tritonport.source.walk import replaced, walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.mma.rings import LoopText, Refusal
from tritonport.upgrade.mma.spelling import names_assigned, one_line, simple_assignment
from tritonport.upgrade.slices import names_of

TILE, PLACE = "the_tile", "the_place"


def check_alike(
    loop: LoopText,
    refills: Sequence[cst.BaseStatement],
    first: Sequence[cst.BaseStatement],
    around: cst.For,
    place: str,
) -> None:
    """That the statements before the loop copy what those in the loop would, were the numbers of iterations theirs.

    Args:
        refills: in the loop, with the sums of index and depth named `TILE` and the counter of places `PLACE`.
        first: of the body of `around`, which runs through the places.
        place: the place of an iteration, whose number is named `PLACE` in it.

    Raises:
        Refusal: they differ.
    """
    counter = code(around.target)
    lines = list(around.body.body)
    made = definitions(line for line in lines if isinstance(line, cst.BaseStatement))
    start, _, step = bounds_of(loop, backwards=True)
    tiles = _numbers(counter, start, step)
    places = {_same(place.replace(PLACE, counter))}
    theirs = [_normal(_named(expanded(line, made), tiles, places)) for line in first]
    ours = [_normal(line) for line in refills]
    if ours != theirs:
        differing = next((line for line, mine, other in zip(first, ours, theirs, strict=False) if mine != other), None)
        said = f": `{one_line(differing)}`" if differing is not None else ""
        raise Refusal(f"its ring is not filled before the loop as it is in the loop{said}")


def definitions(lines: Iterable[cst.BaseStatement]) -> dict[str, cst.BaseExpression]:
    """What variables stand for that statements assign once, from values that they do not change."""
    lines = list(lines)
    found: dict[str, cst.BaseExpression] = {}
    for line in lines:
        made = simple_assignment(line)
        once = made is not None and sum(made[0] in names_assigned(one) for one in lines) == 1
        if made is not None and once and made[0] not in names_of(made[1]):
            found[made[0]] = made[1]
    return found


def expanded(node: cst.BaseStatement, made: Mapping[str, cst.BaseExpression]) -> cst.BaseStatement:
    """A statement with variables replaced by what they stand for."""
    for _ in range(len(made) + 1):
        passed = {id(one.attr) for one in walk(node) if isinstance(one, cst.Attribute)}
        passed |= {id(one.keyword) for one in walk(node) if isinstance(one, cst.Arg) and one.keyword is not None}
        swaps: dict[cst.CSTNode, cst.CSTNode] = {
            one: cst.parse_expression(f"({code(made[one.value])})")
            for one in walk(node)
            if isinstance(one, cst.Name) and one.value in made and id(one) not in passed
        }
        if not swaps:
            break
        node = replaced(node, swaps)
    return node


def bounds_of(loop: LoopText, *, backwards: bool = False) -> tuple[str, str, str]:
    """Start, stop and step of a loop over a range, as source text.

    Raises:
        Refusal: it is over something else, or backwards and that is not asked for.
    """
    call = loop.node.iter
    given = [one.value for one in call.args if one.keyword is None] if isinstance(call, cst.Call) else []
    if not isinstance(call, cst.Call) or code(call.func) != "range" or not given or len(given) != len(call.args):
        raise Refusal("its loop is not over a range")
    parts = [cst.Integer("0"), *given] if len(given) == 1 else [*given]
    step = parts[2] if len(parts) > 2 else cst.Integer("1")
    size = step.expression if backwards and loop.backwards and isinstance(step, cst.UnaryOperation) else step
    if not isinstance(size, (cst.Integer, cst.Name)) or code(size) == "0":
        raise Refusal(f"the step {code(step)} of its loop may be negative")
    return code(parts[0]), code(parts[1]), code(step)


def _numbers(counter: str, start: str, step: str) -> set[str]:
    """How the index of the iteration `counter` may be written."""
    if step.startswith("-"):
        size = step.removeprefix("-")
        back = [f"{counter} * {size}", f"{size} * {counter}"] if size != "1" else [counter]
        return {_same(f"{start} - {one}") for one in back}
    ahead = [f"{counter} * {step}", f"{step} * {counter}"] if step != "1" else [counter]
    texts = [*ahead] if start == "0" else [f"{start} + {one}" for one in ahead] + [f"{one} + {start}" for one in ahead]
    return {_same(text) for text in texts}


def _named(node: cst.BaseStatement, tiles: set[str], places: set[str]) -> cst.BaseStatement:
    """A statement with what is the place, or the number of the iteration, under one name."""
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    for one in walk(node):
        if isinstance(one, cst.Call) and isinstance(one.func, cst.Attribute) and one.args:
            value = one.args[0].value
            if one.func.attr.value == "index" and _same(code(value)) in places:
                swaps[value] = cst.Name(PLACE)
            elif one.func.attr.value == "to_tensor":
                swaps[one] = value
    placed: cst.BaseStatement = replaced(node, swaps)
    numbers: dict[cst.CSTNode, cst.CSTNode] = {
        one: cst.Name(TILE) for one in walk(placed) if isinstance(one, cst.BaseExpression) and _same(code(one)) in tiles
    }
    found: cst.BaseStatement = replaced(placed, numbers)
    return found


def _same(text: str) -> str:
    """An expression as text without regard to spaces and parentheses."""
    return ast.dump(ast.parse(text.strip().strip("\n"), mode="eval"))


def _normal(node: cst.BaseStatement) -> str:
    assert isinstance(node, cst.SimpleStatementLine)
    return ast.dump(ast.parse(code(node)))


__all__ = ["PLACE", "TILE", "bounds_of", "check_alike", "definitions", "expanded"]
