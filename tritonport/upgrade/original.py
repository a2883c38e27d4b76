"""Where the accesses of a port stand in the file that it was made of, for what is said of them."""

from __future__ import annotations

import re

import libcst as cst

from tritonport.analysis.access import Access, accesses_of
from tritonport.analysis.access.reader import is_called
from tritonport.convert.block_pointers import without_block_pointers
from tritonport.report import Diagnostic
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.source.walk import walk
from tritonport.upgrade.async_copy.plan import KernelPlan
from tritonport.upgrade.legality import HINTS, NO_HINT, Refused, describe
from tritonport.upgrade.multibuffer import Finding
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.loops import targets_of_memory

STAYS = "stays as it is"


class Original:
    """The file as the user has it: where its accesses stand."""

    def __init__(self, text: str, path: str, target: str) -> None:
        self.text = text
        self.module = without_block_pointers(SourceModule(text, path, shared_project()), target)
        self.kernels = {kernel.qualified: kernel for kernel in self.module.kernels}
        self.read: dict[int, tuple[Kernel, list[Access]]] = {}

    def lines_of_loops(self, plan: KernelPlan) -> set[int]:
        """Where the loops of a plan stand: a port has the loops of its original."""
        kernel = self.kernels.get(plan.kernel.qualified)
        if kernel is None:
            return set()
        ported, written = (
            [node for node in walk(one.node) if isinstance(node, (cst.For, cst.While))] for one in (plan.kernel, kernel)
        )
        places = [ported.index(loop.loop.node) for loop in plan.loops]
        return {self.module.position(written[place])[0] for place in places if place < len(written)}

    def diagnostic(self, refused: Refused, what: str = STAYS) -> Diagnostic:
        """What is said of an access that stays as it is, at its line in the user's file."""
        access, reason = refused.access, refused.reason
        line, column = self._place(access)
        met = f" in line {self._place(reason.met)[0]}" if reason.met is not None else ""
        message = f"{describe(access)} {what}: {reason.text}{met}"
        return Diagnostic(reason.code, message, self.module.path, line, column, access.kernel.name)

    def hints_of(self, access: Access) -> list[Diagnostic]:
        """What is said of the hints for caches of an access that becomes a copy by TMA."""
        line, column = self._place(access)
        given = [one.keyword.value for one in access.node.args if one.keyword is not None]
        return [
            Diagnostic(
                NO_HINT,
                f"{describe(access)} loses {name}=, which a copy through a descriptor does not take",
                self.module.path,
                line,
                column,
                access.kernel.name,
            )
            for name in given
            if name in HINTS
        ]

    def of_copy(self, finding: Finding, module: SourceModule) -> Diagnostic:
        """What is said of a copy of a tile: at its line if the user wrote it, else at the load that it is made of."""
        line, column = finding.line, finding.column
        kernel = self.kernels.get(finding.kernel) or self.kernels.get(finding.kernel.removesuffix("_tiles"))
        if module.text != self.module.text:
            line, column = self._place_of_tile(kernel, finding.tile) if kernel is not None else (1, 1)
        name = kernel.name if kernel is not None else finding.kernel
        return Diagnostic(finding.code, finding.message, self.module.path, line, column, name)

    def _accesses(self, kernel: Kernel) -> list[Access]:
        found = self.read.get(id(kernel.node))
        if found is None:
            # The kernel is kept, so that no other gets its identity.
            found = self.read[id(kernel.node)] = (kernel, accesses_of(kernel.module, kernel))
        return found[1]

    def _place(self, access: Access) -> tuple[int, int]:
        kernel = self.kernels.get(access.kernel.qualified)
        if kernel is None:
            return 1, 1
        # Of several loads to one name the port has as many, in the same order.
        alike, ported = (
            [one.node for one in self._accesses(of) if _signature(one) == _signature(access)]
            for of in (kernel, access.kernel)
        )
        place = next((index for index, node in enumerate(ported) if node is access.node), None)
        if place is not None and len(alike) == len(ported):
            return self.module.position(alike[place])
        # The port may have written a load once per layout: `page_k` and `page_v` for `page`.
        same = [
            one
            for one in self._accesses(kernel)
            if one.kind == access.kind
            and (one.target == access.target or (one.target and access.target.startswith(f"{one.target}_")))
        ]
        pointers = names_of(access.node.args[0])
        same.sort(
            key=lambda one: (
                one.base != access.base,
                one.target != access.target,
                -len(names_of(one.node.args[0]) & pointers),
            )
        )
        if not same:
            same = self._in_functions(access)
        if not same:
            return self.module.line_of(kernel), 1
        return self.module.position(same[0].node)

    def _place_of_tile(self, kernel: Kernel, tile: str) -> tuple[int, int]:
        """Where a load stands, by the shared memory that its copy has."""
        functions = [kernel, *(one for one in self.kernels.values() if is_called(self.module, one))]
        for wanted in targets_of_memory(tile):
            for function in functions:
                loads = [one for one in self._accesses(function) if one.kind == "load" and one.target == wanted]
                if loads:
                    return self.module.position(loads[0].node)
        return self.module.line_of(kernel), 1

    def _in_functions(self, access: Access) -> list[Access]:
        """The access in a function that other kernels call, whose body stands in one of them in the port; its names
        may have a number behind them there."""
        name = re.sub(r"_\d+$", "", access.target)
        functions = (one for one in self.kernels.values() if is_called(self.module, one))
        every = [one for function in functions for one in self._accesses(function) if one.kind == access.kind]
        return [one for one in every if one.target and one.target in (access.target, name)]


def _signature(access: Access) -> tuple[str, str, str | None]:
    """What an access of a port has in common with that of the original."""
    return access.kind, access.target, access.base


__all__ = ["STAYS", "Original"]
