"""Where the accesses of a port stand in the file that it was made of, for what is said of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from tritonport.analysis.access import Access, accesses_of
from tritonport.analysis.access.reader import calls_of, is_called
from tritonport.convert.block_pointers import without_block_pointers
from tritonport.convert.snippets import available
from tritonport.report import Diagnostic
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.source.syntax import dotted
from tritonport.source.walk import calls_in, walk
from tritonport.upgrade.async_copy.plan import KernelPlan
from tritonport.upgrade.dots import called
from tritonport.upgrade.legality import (
    COPY_STAYS,
    HINTS,
    NO_DESCRIPTOR,
    NO_HINT,
    Reason,
    Refused,
    considered,
    describe,
)
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
        self.emitted = available(target)

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
        line, column = self.place(access)
        met = f" in line {self.place(reason.met)[0]}" if reason.met is not None else ""
        own = self._in_function(access)
        named = replace(access, target=own.target) if own is not None else access
        message = f"{describe(named)} {what}: {reason.text}{met}"
        return Diagnostic(reason.code, message, self.module.path, line, column, access.kernel.name)

    def hidden(self, stage: str, kernel: Kernel) -> list[Refused]:
        """The tiles that a kernel of a port, or a form of one, has a function of another file read or write."""
        found = []
        for access in calls_of(kernel.module, kernel):
            callee = called_function(access)
            if callee is not None and self._is_foreign(callee) and considered(stage, access):
                why = f"`{callee.name}` is a function of another file, and only those of this one are looked into"
                found.append(Refused(access, Reason(COPY_STAYS if stage == "async-copy" else NO_DESCRIPTOR, why)))
        return found

    def is_foreign(self, access: Access) -> bool:
        """Whether an access of a form is in the body of a function of another file."""
        origin = access.kernel.origins.get(access.node)
        return origin is not None and origin.function is not None and self._is_foreign(origin.function)

    def is_returned(self, access: Access) -> bool:
        """Whether an access of a form is a load in a function of the file that no dot of the function reads."""
        own = self._in_function(access)
        return own is not None and own.kind == "load" and not self.is_foreign(access) and not considered("tma", own)

    def _in_function(self, access: Access) -> Access | None:
        """What an access of a form is in the function that it was opened from, in the port; None for others."""
        origin = access.kernel.origins.get(access.node)
        if origin is None or origin.function is None:
            return None
        return next((one for one in self._accesses(origin.function) if one.node is origin.node), None)

    def _is_foreign(self, function: Kernel) -> bool:
        """Whether a function that a port calls is one of another file, be it copied into the port."""
        emitted = re.sub(r"_\d+$", "", function.name) in self.emitted and function.module.path == self.module.path
        return function.qualified not in self.kernels and not emitted

    def hints_of(self, access: Access) -> list[Diagnostic]:
        """What is said of the hints for caches of an access that becomes a copy by TMA."""
        line, column = self.place(access)
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

    def place(self, access: Access) -> tuple[int, int]:
        """Line and column of an access of a port, or of a form of it, in the user's file."""
        kernel = self.kernels.get(access.kernel.qualified)
        if kernel is None:
            return 1, 1
        ported, kernel, node = self._traced(access, kernel)
        for port in dict.fromkeys((ported, access.kernel)):
            exact = self._exact(node, port, kernel)
            if exact is not None:
                return self.module.position(exact)
        every = [one for one in self._accesses(kernel) if one.kind == access.kind]
        # The port may have written a load once per layout: `page_k` and `page_v` for `page`.
        same = [
            one
            for one in every
            if one.target == access.target or (one.target and access.target.startswith(f"{one.target}_"))
        ]
        pointers = names_of(access.node.args[0])

        def shared(one: Access) -> int:
            return len(names_of(one.node.args[0]) & pointers)

        same.sort(key=lambda one: (one.base != access.base, one.target != access.target, -shared(one)))
        if not same:
            same = self._in_functions(access)
        if not same:
            # `x += load(p)` is `x = x + load(p)` in the port.
            same = sorted((one for one in every if not one.target and shared(one)), key=shared, reverse=True)
        if not same:
            return self.module.line_of(kernel), 1
        return self.module.position(same[0].node)

    def _traced(self, access: Access, kernel: Kernel) -> tuple[Kernel, Kernel, cst.Call]:
        """What an access of a form was in the port: the function there, that in the user's file, and the call."""
        kernels = access.kernel.module.kernels
        port = next((one for one in kernels if one.qualified == access.kernel.qualified), access.kernel)
        node, origins = access.node, access.kernel.origins
        while node in origins:
            origin = origins[node]
            if origin.function is None:
                node = origin.node
            elif origin.function.qualified in self.kernels:
                return origin.function, self.kernels[origin.function.qualified], origin.node
            else:  # a function of another file: where it is called
                assert origin.opened is not None
                node = origin.opened
        return port, kernel, node

    def _exact(self, node: cst.Call, port: Kernel, kernel: Kernel) -> cst.Call | None:
        """The call that one of a port was in the user's file: of several loads to one name both have as many, in the
        same order."""
        ported = self._accesses(port)
        own = next((other for other in ported if other.node is node), None)
        every = [ported, self._accesses(kernel)] if own is not None else []
        alike = [[one.node for one in among if own and _signature(one) == _signature(own)] for among in every]
        found = _facing(node, *alike) if alike else None
        if found is not None:
            return found
        calls = [[call for call in calls_in(of.node.body) if called(call) == called(node)] for of in (port, kernel)]
        return _facing(node, *calls)

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


def called_function(access: Access) -> Kernel | None:
    """The function that a call is of, which stands for an access."""
    module, path = access.kernel.module, dotted(access.node.func)
    meanings = module.lookup(path) if path is not None else []
    return meanings[0].kernel if len(meanings) == 1 else None


def _facing(node: cst.Call, ported: Sequence[cst.Call], written: Sequence[cst.Call]) -> cst.Call | None:
    """What a call of a port was, of some like it; None where there are not as many."""
    place = next((index for index, call in enumerate(ported) if call is node), None)
    return written[place] if place is not None and len(ported) == len(written) else None


def _signature(access: Access) -> tuple[str, str, str | None]:
    """What an access of a port has in common with that of the original."""
    return access.kind, access.target, access.base


__all__ = ["STAYS", "Original", "called_function"]
