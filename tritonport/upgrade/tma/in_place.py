"""Tiles that dots read in place although other statements compute with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Access
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import Operand, called, operand_of, reads_of
from tritonport.upgrade.edit import code
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.terms import as_operand
from tritonport.upgrade.values import path_to, readers_of


def operand_unless(access: Access, function: cst.FunctionDef, decided: Container[int]) -> tuple[Operand, str]:
    """How dots read a tile that a loop loads, where only `if`s that are decided when the kernel is compiled do more.

    `if USE_GK: b_k = b_k * decay` needs it in registers: `USE_GK` is the test that is given with the operand.
    """
    name = access.target
    body = access.loops[-1].node.body if access.loops else None
    if not name or not isinstance(body, cst.IndentedBlock):
        return Operand(), ""
    place = next((at for at, line in enumerate(body.body) if _loads(line, access.node)), None)
    behind = list(body.body[place + 1 :]) if place is not None else []
    computing = [line for line in behind if _computes(line, name, decided)]
    others = [line for line in behind if line not in computing]
    # All else that the kernel says of the name is said by dots of this iteration.
    assigned = Counter(assigned_names(function.body))[name]
    inside = Counter(assigned_names(cst.IndentedBlock(computing)))[name] if computing else 0
    if (
        not computing
        or assigned != inside + 1
        or len(reads_of(function, name)) != sum(len(reads_of(line, name)) for line in behind)
    ):
        return Operand(), ""
    operand = operand_of(name, others, function, casts=True)
    if operand.result is None or operand.several is not None:
        return Operand(), ""
    tests = " or ".join(dict.fromkeys(as_operand(code(line.test)) for line in computing if isinstance(line, cst.If)))
    return operand, tests


@dataclass(frozen=True)
class Beside:
    """A call that puts a loaded tile where dots read it, while other statements read it in registers.

    Attributes:
        operand: how these dots read it, one call of them.
    """

    call: cst.Call
    operand: Operand


def read_beside(access: Access, function: cst.FunctionDef) -> Beside | None:
    """The call for which a tile can stay where it was copied; None where there is not one such call of the tile itself.

    `b_smem = dot_operand(b, 0, layout)` behind `b = load(...)` in its block, where b is nothing else anywhere.
    """
    name = access.target
    if not name or Counter(assigned_names(function.body))[name] != 1:
        return None
    for block in walk(function.body):
        lines = block.body if isinstance(block, cst.IndentedBlock) else ()
        place = next((at for at, line in enumerate(lines) if _loads(line, access.node)), None)
        if place is not None:
            break
    else:
        return None
    found = [made for line in lines[place + 1 :] if (made := _staged(line, name, function)) is not None]
    calls = [call for call in walk(function.body) if called(call).startswith("dot_operand") and name in _first(call)]
    return found[0] if len(found) == len(calls) == 1 else None


def _staged(line: cst.BaseStatement, name: str, function: cst.FunctionDef) -> Beside | None:
    """The call of a statement that does nothing but put a tile where a dot reads it."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    call = small.value if isinstance(small, cst.Assign) else None
    if not isinstance(call, cst.Call) or not called(call).startswith("dot_operand") or name not in _first(call):
        return None
    operand = operand_of(name, [line], function)
    return Beside(call, operand) if operand.result is not None and operand.several is None else None


def _first(call: cst.CSTNode) -> set[str]:
    """The names in the first argument of a call."""
    return names_of(call.args[0].value) if isinstance(call, cst.Call) and call.args else set()


def _loads(line: cst.BaseStatement, call: cst.Call) -> bool:
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    return isinstance(small, cst.Assign) and small.value is call


def _computes(line: cst.BaseStatement, name: str, decided: Container[int]) -> bool:
    """Whether a statement is such an `if`, in whose first branch alone the name stands."""
    if not isinstance(line, cst.If) or id(line) not in decided or line.orelse is not None:
        return False
    return any(isinstance(node, cst.Name) and node.value == name for node in walk(line.body))


@dataclass(frozen=True)
class Turned:
    """A loaded matrix that is turned for the dots, which alone read it: `a = permute(a, (1, 0))`.

    Attributes:
        node: the statement that turns it and does nothing else; None where that of the load does.
        name: what the turned matrix is called.
        operand: how dots read it.
    """

    node: cst.BaseStatement | None
    name: str
    operand: Operand


def turned_first(access: Access, function: cst.FunctionDef, decided: Container[int]) -> Turned | None:
    """How a tile is turned before anything else is done with it; None where something reads it as it lies.

    Args:
        decided: the `if`s that are decided when the kernel is compiled, by identity.
    """
    path = path_to(access.node, function.body)
    if path is None:
        return None
    block, place = path[-1]
    alone = _loads(block[place], access.node)
    readers = readers_of(access.target, access.node, function, decided) if alone else [block[place]]
    if readers is None or len(readers) != 1:
        return None
    line = readers[0]
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target, of = small.targets[0].target, _turned(small.value)
    if not isinstance(target, cst.Name) or of is None:
        return None
    if not alone:
        alike = of is access.node
    else:
        behind = next((index for index, one in enumerate(block) if one is line), None)
        alike = behind is not None and isinstance(of, cst.Name) and of.value == access.target
        # Between the two its new name may stand for something else still.
        between = cst.IndentedBlock(list(block[place + 1 : behind]))
        alike = alike and target.value not in names_of(between) | set(assigned_names(between))
    found = readers_of(target.value, small.value, function, decided) if alike else None
    operand = operand_of(target.value, found, function, casts=True) if found is not None else Operand()
    if operand.result is None or operand.several is not None:
        return None
    return Turned(line if alone else None, target.value, operand)


def _turned(value: cst.BaseExpression) -> cst.BaseExpression | None:
    """`x` of `permute(x, (1, 0))`, `x.permute((1, 0))` or `x.T`; None for anything else."""
    if isinstance(value, cst.Attribute):
        return value.value if value.attr.value == "T" else None
    if called(value) != "permute" or not isinstance(value, cst.Call) or any(one.keyword for one in value.args):
        return None
    method = len(value.args) == 1 and isinstance(value.func, cst.Attribute)
    if not value.args or code(value.args[-1].value) not in ("(1, 0)", "[1, 0]") or not (method or len(value.args) == 2):
        return None
    return value.func.value if method and isinstance(value.func, cst.Attribute) else value.args[0].value


__all__ = ["Beside", "Turned", "operand_unless", "read_beside", "turned_first"]
