"""Which way a launch of a staged port takes: the tiles that the hardware copies, or the kernel of pointers.

A port of the stage tma and of those after it holds both, and a test on parameters that chooses between them:

    if a_desc is None or NUM_BUFFERS < 2 or (HAS_BIAS and bias_desc is None):
        matmul_kernel_pointers(...)
    else:
        matmul_kernel_tiles(...)
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tritonport.verify.launches import Launch


@dataclass(frozen=True)
class Way:
    """The way of one launch.

    Attributes:
        kernel: the kernel that was launched.
        fallback: the conditions that sent it to the pointers, such as `a_desc is None`; empty where it took the tiles.
    """

    kernel: str
    fallback: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As it stands in the report."""
        return {"kernel": self.kernel, "fallback": list(self.fallback)}


Fallbacks = Mapping[str, tuple[ast.expr, ...]]
"""By the name of the kernel, the conditions each of which sends a launch to the pointers."""


def fallbacks_of(text: str) -> dict[str, tuple[ast.expr, ...]]:
    """The kernels of a port that have a way to fall back to."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    found = {function.name: _conditions(function) for function in functions}
    return {name: conditions for name, conditions in found.items() if conditions}


def _conditions(function: ast.FunctionDef) -> tuple[ast.expr, ...]:
    """The conditions of the one statement of a kernel that only chooses; none where it does something else."""
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    if len(body) != 1 or not isinstance(choice := body[0], ast.If):
        return ()
    if not all(len(arm) == 1 and _is_call(arm[0]) for arm in (choice.body, choice.orelse)):
        return ()
    tests = _alternatives(choice.test)
    return tuple(tests) if all(_readable(test) for test in tests) else ()


def _alternatives(test: ast.expr) -> list[ast.expr]:
    """The tests of which one is enough."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return [each for value in test.values for each in _alternatives(value)]
    return [test]


def _is_call(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


_READABLE: tuple[type[ast.AST], ...] = (
    *(ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Name, ast.Constant, ast.Subscript),
    *(ast.boolop, ast.unaryop, ast.operator, ast.cmpop, ast.Load),
)
"""What a test on parameters is made of."""
_SIZES = {"cdiv": lambda size, block: -(-size // block), "minimum": min, "maximum": max, "min": min, "max": max}
"""What it may call, under any name for the language."""


class _Sizes(ast.NodeTransformer):
    """Names the functions that a test calls as they are called here."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in _SIZES or node.keywords:
            return node
        return ast.Call(ast.Name(f"_{name}", ast.Load()), node.args, [])


def _spelled(test: ast.expr) -> ast.expr:
    found = _Sizes().visit(ast.parse(ast.unparse(test), mode="eval").body)
    assert isinstance(found, ast.expr)
    return found


def _readable(test: ast.expr) -> bool:
    """Whether a test asks for the descriptor that a launch lacks, or for its depth; with what it is needed for."""
    asked = test.values[-1] if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else test
    asks = isinstance(asked, ast.Compare) and isinstance(asked.ops[0], ast.Is | ast.Lt) and len(asked.ops) == 1
    known = {f"_{name}" for name in _SIZES}
    return asks and all(
        isinstance(node, _READABLE) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") in known)
        for node in ast.walk(_spelled(test))
    )


def ways_of(launches: Iterable[Launch], fallbacks: Fallbacks) -> tuple[Way, ...]:
    """The way of each launch of a kernel that has two."""
    return tuple(
        Way(launch.kernel, tuple(ast.unparse(test) for test in fallbacks[launch.kernel] if _holds(test, launch)))
        for launch in launches
        if launch.kernel in fallbacks
    )


def _holds(test: ast.expr, launch: Launch) -> bool:
    """What a test says of a launch; tensors and descriptors, which it compares with None alone, are any objects."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    known = {**dict.fromkeys(launch.absent), **launch.numbers, **launch.flags, **launch.words}
    values = {name: known.get(name, launch.defaults.get(name, launch)) for name in names}
    code = compile(ast.fix_missing_locations(ast.Expression(_spelled(test))), "<fallback>", "eval")
    functions = {f"_{name}": function for name, function in _SIZES.items()}
    try:
        return bool(eval(code, {"__builtins__": {}, **functions}, values))
    except TypeError:
        # A parameter that the launch computes itself: the depth of a ring.
        return False


def summary_of(ways: Iterable[Way]) -> str:
    """How many launches took the tiles, for the line of the tier; empty where no kernel has two ways."""
    taken = [not way.fallback for way in ways]
    if not taken:
        return ""
    launches = "1 launch" if len(taken) == 1 else f"{len(taken)} launches"
    return f"; {sum(taken)} of {launches} by tiles"


def notes_of(ways: Iterable[Way]) -> list[str]:
    """What each kernel's launches did, and which of its two ways no launch has shown."""
    by_kernel: dict[str, list[Way]] = {}
    for way in ways:
        by_kernel.setdefault(way.kernel, []).append(way)
    return [note for kernel, own in by_kernel.items() for note in _notes(kernel, own)]


def _notes(kernel: str, ways: list[Way]) -> list[str]:
    conditions = Counter(condition for way in ways for condition in way.fallback)
    why = ", ".join(f"{condition}: {count}" for condition, count in conditions.most_common())
    tiles = sum(not way.fallback for way in ways)
    notes = [f"{kernel}: {tiles} launches by tiles, {len(ways) - tiles} by pointers" + (f" ({why})" if why else "")]
    if tiles in (0, len(ways)):
        unseen = "pointers" if tiles else "tiles"
        notes.append(f"{kernel}: no launch of the case goes by {unseen}, so that nothing is shown of that way")
    return notes
