"""The copies of tiles in the statements of a loop: by `expect` and a TMA load, or by a function that does both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk
from tritonport.upgrade.multibuffer.operations import arguments, bound, operation
from tritonport.upgrade.slices import names_of


@dataclass(frozen=True, eq=False)
class Step:
    """A statement that is one call: an expect, a load (or both in one), or a wait.

    Attributes:
        kind: "expect", "load", "both" or "wait".
        barrier: the name of its barrier; None where it is no plain name.
        tile: the name of the tile that a load fills; empty for the others, None where it is no plain name.
        given: the arguments by parameter: `mbarrier` or `barrier`, `result`, `coord`, `tensor_desc`, `pred`, `phase`.
        pred: what the called function calls the predicate; empty where it takes none.
        pred_follows: whether one more positional argument is that.
    """

    kind: str
    place: int
    call: cst.Call
    barrier: str | None
    tile: str | None
    given: dict[str, cst.Arg]
    pred: str = "pred"
    pred_follows: bool = False


class Copies:
    """Reads the copies of one file."""

    def __init__(self, module: SourceModule) -> None:
        self.module = module

    @cached_property
    def helpers(self) -> dict[str, dict[str, str]]:
        """Functions of the file that begin to copy one tile: by name, what each of their parameters is for."""
        found = {}
        for kernel in self.module.kernels:
            roles = self._roles(kernel) if kernel.language == "gluon" and not kernel.scope else None
            if roles is not None:
                found[kernel.name] = roles
        return found

    def kind(self, node: cst.CSTNode) -> str:
        """ "expect", "load", "both" or "wait"; empty for any other node."""
        if isinstance(node, cst.Call) and dotted(node.func) in self.helpers:
            return "both"
        name = operation(self.module, node)
        return name if name in ("expect", "load", "wait") else ""

    def step(self, place: int, statement: cst.BaseStatement) -> Step | None:
        """What a statement of a loop's body does with a barrier; None where it is something else."""
        if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
            return None
        small = statement.body[0]
        if not isinstance(small, cst.Expr) or not isinstance(small.value, cst.Call):
            return None
        kind = self.kind(small.value)
        if not kind:
            return None
        return self._step(kind, place, small.value)

    def read(self, call: cst.Call) -> Step:
        """The step of a call that copies a tile, wherever it stands."""
        return self._step(self.kind(call), 0, call)

    def descriptors(self, kernel: Kernel) -> list[str]:
        """The descriptors whose tiles a function copies, by name."""
        calls = (node for node in walk(kernel.node.body) if self.kind(node) in ("load", "both"))
        found = [self.read(call).given.get("tensor_desc") for call in calls if isinstance(call, cst.Call)]
        return list(dict.fromkeys(name for one in found if (name := _name(one)) is not None))

    def _step(self, kind: str, place: int, call: cst.Call) -> Step:
        if kind == "both":
            roles = self.helpers[dotted(call.func) or ""]
            given = {roles.get(name, name): said for name, said in (bound(call, tuple(roles)) or {}).items()}
            pred = next((name for name, role in roles.items() if role == "pred"), "")
            follows = list(roles.values())[len(call.args) : len(call.args) + 1] == ["pred"]
        else:
            given = arguments(call, kind) or {}
            pred, follows = "pred", False
        barrier = given.get("barrier", given.get("mbarrier"))
        tile = given.get("result")
        loads = kind in ("load", "both")
        return Step(kind, place, call, _name(barrier), _name(tile) if loads else "", given, pred, follows)

    def _roles(self, kernel: Kernel) -> dict[str, str] | None:
        """What the parameters of a function are, if all it does is to expect and copy one tile."""
        roles = {parameter.name: parameter.name for parameter in kernel.parameters}
        own = {"barrier": "", "result": "", "pred": "", "tensor_desc": ""}
        coordinates: set[str] = set()
        expects = loads = predicated = 0
        for node in walk(kernel.node.body):
            if isinstance(node, (cst.Assign, cst.AugAssign, cst.AnnAssign, cst.Return, cst.For, cst.While)):
                return None
            kind = operation(self.module, node)
            if not kind:
                continue
            assert isinstance(node, cst.Call)
            given = arguments(node, kind) if kind in ("expect", "load") else None
            if given is None:
                return None
            expects += kind == "expect"
            loads += kind == "load"
            for name, argument in given.items():
                role = "barrier" if name == "mbarrier" else name
                if role not in own:
                    continue
                said = _name(argument)
                if said not in roles or own[role] not in ("", said):
                    return None
                own[role] = said
            predicated += "pred" in given
            if kind == "load" and "coord" in given:
                coordinates |= names_of(given["coord"].value) & roles.keys()
        if not predicated:
            del own["pred"]
        if expects != 1 or not loads or not all(own.values()) or predicated not in (0, expects + loads):
            return None
        for role, name in own.items():
            roles[name] = role
        if len(coordinates) == 1:
            roles[coordinates.pop()] = "coord"
        return roles


def _name(argument: cst.Arg | None) -> str | None:
    return argument.value.value if argument is not None and isinstance(argument.value, cst.Name) else None


__all__ = ["Copies", "Step"]
