"""Which numbers of a kernel may have 64 bits: a copy takes its coordinates in 32."""

from __future__ import annotations

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk
from tritonport.upgrade.slices import names_of

_DEPTH = 4
"""How far calls of functions are followed; beyond that a result is taken to be wide."""


class Wide:
    """The numbers of one kernel that may have 64 bits."""

    def __init__(self, kernel: Kernel) -> None:
        self.module = kernel.module
        self.names: set[str] = set()
        self._collect(kernel.node)

    def may_be(self, node: cst.CSTNode) -> bool:
        """Whether an expression may have 64 bits."""
        return bool(self.names & names_of(node)) or _says(node) or self._calls(self.module, node, _DEPTH)

    def _collect(self, function: cst.FunctionDef) -> None:
        for parameter in function.params.params:
            if parameter.annotation is not None and _says(parameter.annotation.annotation):
                self.names.add(parameter.name.value)
        while True:
            before = len(self.names)
            for node in walk(function.body):
                if isinstance(node, (cst.Assign, cst.AugAssign, cst.AnnAssign)) and node.value is not None:
                    if self.may_be(node.value):
                        targets = (
                            [one.target for one in node.targets] if isinstance(node, cst.Assign) else [node.target]
                        )
                        self.names |= {name for target in targets for name in names_of(target)}
                elif isinstance(node, cst.For) and self.may_be(node.iter):
                    self.names |= names_of(node.target)
            if len(self.names) == before:
                return

    def _calls(self, module: SourceModule, node: cst.CSTNode, depth: int) -> bool:
        """Whether an expression calls a jit function that says int64, itself or in one that it calls."""
        for call in walk(node):
            path = dotted(call.func) if isinstance(call, cst.Call) else None
            for meaning in module.lookup(path) if path is not None else ():
                callee = meaning.kernel
                if callee is None:
                    continue
                if depth == 0 or _says(callee.node.body) or self._calls(callee.module, callee.node.body, depth - 1):
                    return True
        return False


def targets_of(node: cst.Assign | cst.AugAssign | cst.AnnAssign) -> list[cst.BaseExpression]:
    """What an assignment gives a value."""
    return [one.target for one in node.targets] if isinstance(node, cst.Assign) else [node.target]


def _says(node: cst.CSTNode) -> bool:
    return any(isinstance(one, cst.Name) and one.value == "int64" for one in walk(node))


__all__ = ["Wide", "targets_of"]
