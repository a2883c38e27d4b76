"""What an expression of a kernel is for: an address, a mask, the count of a wait."""

from __future__ import annotations

import ast
from collections.abc import Iterable

ADDRESSED = frozenset(
    {"load", "store", *(f"atomic_{name}" for name in ("add", "and", "cas", "max", "min", "or", "xchg", "xor"))}
)
"""The operations whose first argument is an address, and which take a mask."""

_COUNTED = {
    "mbarrier.wait": "phase",
    "mbarrier.init": "arrivals",
    "mbarrier.expect": "bytes",
    "store_wait": "wait",
    "wait_group": "wait",
    "warpgroup_mma_wait": "wait",
    "dot_awaited": "wait",
}
_DEPENDENT = ("dot_awaited",)
"""Those whose first argument is what is waited for."""
_TILED = ("load_tile", "store_tile", "async_load", "async_store", "async_copy_global_to_shared")
"""Copies of tiles by the hardware: the second argument is where in the tensor the tile begins."""


_PLACED = ("dot_operand", "landed", "landed_as_is", "operand_beside", "operand_smem", "staged")
"""Functions of ports whose second argument says which operand of a product a tile is: a layout is chosen by it."""


def called(call: ast.Call) -> str:
    """The dotted name of what is called."""
    return ast.unparse(call.func)


def counts_of(call: ast.Call) -> list[ast.expr]:
    """What an operation on barriers or groups counts: a phase, bytes, arrivals, or how much may be under way."""
    name = called(call)
    waits = any(name == one or name.endswith(f".{one}") for one, role in _COUNTED.items() if role == "wait")
    keywords = [keyword.value for keyword in call.keywords if keyword.arg not in ("deps", "pred", "read_only")]
    return [*call.args[0 if waits and name not in _DEPENDENT else 1 :], *keywords]


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


class Roles:
    """The roles of the expressions of one function.

    What is assigned to a name that an address is made of is part of an address too, and so for masks; an address wins
    where a name is in both (`offs` in `x_ptr + offs` and in `offs < n`), and a mask over plain values.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        self._assigned: list[tuple[set[str], ast.AST]] = []
        self._of: dict[ast.AST, str] = {}
        roots: dict[str, list[ast.AST]] = {"ring": [], "phase": [], "mask": [], "offset": []}
        for node in ast.walk(function):
            self._note_assignment(node)
            if isinstance(node, ast.Call):
                self._note_call(node, roots)
        for role, nodes in roots.items():
            self._spread(role, nodes)
        # The direct arguments last: the mask keyword of a load is a mask whatever it is made of.
        for node in roots["mask"]:
            self._mark("mask", [node])
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                self._note_counts(node)

    def of(self, node: ast.AST) -> str | None:
        """`offset`, `mask`, `fill`, `layout`, `ring`, `phase`, `bytes`, `arrivals`, `wait`; None for anything else."""
        return self._of.get(node)

    def _note_assignment(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            self._assigned += [(_names(target), node.value) for target in node.targets]
        elif isinstance(node, ast.AugAssign):
            self._assigned.append((_names(node.target), node))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            names = _names(node.target)
            self._assigned.append((names, node.value))
            if any(name.endswith(("layout", "_order", "order", "bits")) for name in names):
                self._mark("layout", [node.value])

    def _note_call(self, node: ast.Call, roots: dict[str, list[ast.AST]]) -> None:
        if called(node).rpartition(".")[2] in ADDRESSED and node.args:
            roots["offset"].append(node.args[0])
            roots["mask"] += [keyword.value for keyword in node.keywords if keyword.arg == "mask"]
            self._mark("fill", [keyword.value for keyword in node.keywords if keyword.arg == "other"])
        if called(node).endswith(_TILED) and len(node.args) > 1:
            roots["offset"].append(node.args[1])
        if called(node) in _PLACED and len(node.args) > 1:
            self._mark("layout", [node.args[1]])
        if called(node).endswith(".index"):
            roots["ring"] += node.args
        if called(node).endswith("mbarrier.wait"):
            roots["phase"] += node.args[1:]
        for keyword in node.keywords:
            if keyword.arg == "layout":
                self._mark("layout", [keyword.value])

    def _note_counts(self, node: ast.Call) -> None:
        name = called(node)
        for ending, role in _COUNTED.items():
            if name == ending or name.endswith(f".{ending}"):
                self._mark(role, counts_of(node))

    def _spread(self, role: str, nodes: Iterable[ast.AST]) -> None:
        """Marks these expressions and, over and over, what is assigned to the names in them."""
        nodes = list(nodes)
        done: set[int] = set()
        while nodes:
            self._mark(role, nodes)
            wanted = set().union(*(_names(node) for node in nodes))
            fresh = [(n, value) for n, (names, value) in enumerate(self._assigned) if n not in done and names & wanted]
            done |= {number for number, _ in fresh}
            nodes = [value for _, value in fresh]

    def _mark(self, role: str, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            for one in ast.walk(node):
                if self._of.get(one) != "layout":
                    self._of[one] = role
