"""All functions of a file: who takes block pointers, and what is written for each."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from tritonport.analysis.block_pointers.definitions import Part, Use
from tritonport.analysis.block_pointers.expressions import helper_of
from tritonport.analysis.block_pointers.reader import Reader
from tritonport.analysis.block_pointers.webs import Webs, parts_of
from tritonport.analysis.values import Refusal
from tritonport.convert.block_pointers.function import FunctionWriter
from tritonport.convert.names import Names
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import walk


def written_out(module: SourceModule, descriptors: bool) -> SourceModule:
    """The file with the block pointers of its Triton kernels written out, with `descriptors` tensor descriptors too."""
    kernels = [kernel for kernel in module.kernels if kernel.language == "triton"]
    found = _Functions(module, kernels, descriptors)
    if not found.written and not found.refused:
        return module
    return module.with_functions(
        {kernel.node: node for kernel, node in found.written.items()},
        found.origins,
        {kernel.node: refusal for kernel, refusal in found.refused.items()},
    )


class _Functions:
    """All functions of a file: who takes block pointers, and what is written for each."""

    def __init__(self, module: SourceModule, kernels: list[Kernel], descriptors: bool) -> None:
        self.module = module
        self.descriptors = descriptors
        self.kernels = kernels
        self.refused: dict[Kernel, Refusal] = {}
        self.readers: dict[Kernel, Reader] = {}
        self.webs: dict[Kernel, Webs] = {}
        self.written: dict[Kernel, cst.FunctionDef] = {}
        self.origins: dict[cst.CSTNode, cst.CSTNode] = {}
        self.given: dict[Kernel, dict[str, int]] = {}
        self.language = _language(module)
        self._read()
        for kernel in self.readers:
            self._guarded(kernel, self._decide)
        self._refuse_callers()
        for kernel in [kernel for kernel in self.webs if kernel not in self.refused]:
            self._guarded(kernel, self._write)
        self._refuse_callers()
        for kernel in self.refused:
            self.written.pop(kernel, None)

    def _guarded(self, kernel: Kernel, step: Callable[[Kernel], None]) -> None:
        if kernel in self.refused:
            return
        try:
            step(kernel)
        except Refusal as refusal:
            self.refused[kernel] = refusal

    def _read(self) -> None:
        waiting = list(self.kernels)
        for _ in range(8 * len(self.kernels)):
            if not waiting:
                return
            kernel = waiting.pop(0)
            self.readers.pop(kernel, None)
            self._guarded(kernel, self._read_one)
            reader = self.readers.get(kernel)
            for use in reader.uses.values() if reader is not None else ():
                callee = self._callee(kernel, use)
                if callee is None:
                    continue
                ranks = self.given.setdefault(callee, {})
                rank = next(iter(use.definitions)).rank
                if ranks.get(use.parameter) == rank:
                    continue
                if use.parameter in ranks:
                    self.refused[callee] = Refusal(
                        "TP203", f"{callee.name} takes block pointers of different ranks", callee.node
                    )
                    continue
                ranks[use.parameter] = rank
                waiting.append(callee)

    def _read_one(self, kernel: Kernel) -> None:
        text = self.module.tree.code_for_node(kernel.node.body)
        if "block_ptr" in text or kernel in self.given or (self.descriptors and "tensor_descriptor" in text):
            self.readers[kernel] = Reader(self.module, kernel, self.given.get(kernel, {}), self.descriptors)

    def _callee(self, kernel: Kernel, use: Use) -> Kernel | None:
        if use.how != "argument" or not isinstance(use.node, cst.Call):
            return None
        return helper_of(self.module, kernel, use.node)

    def _decide(self, kernel: Kernel) -> None:
        reader = self.readers[kernel]
        if not reader.definitions:
            return
        taken = {item.value for item in walk(kernel.node) if isinstance(item, cst.Name)}
        bindings = self.module.bindings
        names = Names(taken | {*bindings.imported, *bindings.assigned, *bindings.functions, *bindings.kernels})
        self.webs[kernel] = Webs(reader, names.fresh)

    def _refuse_callers(self) -> None:
        """A caller goes with the helper that it passes a block pointer to."""
        changed = True
        while changed:
            changed = False
            for kernel, reader in self.readers.items():
                if kernel in self.refused:
                    continue
                for use in reader.uses.values():
                    callee = self._callee(kernel, use)
                    if callee is not None and callee in self.refused:
                        self.refused[kernel] = self.refused[callee]
                        changed = True
                        break

    def _write(self, kernel: Kernel) -> None:
        for other, reader in self.readers.items():
            self._calls_agree(kernel, other, reader)
        reader, webs, given = self.readers[kernel], self.webs[kernel], self.given.get(kernel, {})
        writer = FunctionWriter(self.module, kernel, reader, webs, self.language, self._parameters, given)
        node = writer.write()
        old = {id(item) for item in walk(kernel.node)}
        self.origins[node] = kernel.node
        for new, origin in writer.made:
            for item in walk(new):
                if id(item) not in old:
                    self.origins.setdefault(item, origin)
        self.written[kernel] = node

    def _calls_agree(self, kernel: Kernel, caller: Kernel, reader: Reader) -> None:
        """Every call of a helper gives it block pointers for the same parameters."""
        wanted = set(self.given.get(kernel, ()))
        if not wanted:
            return
        for node in walk(caller.node):
            if isinstance(node, cst.Call) and helper_of(self.module, caller, node) is kernel:
                passed = {use.parameter for use in reader.uses.values() if use.node is node and use.how == "argument"}
                if passed != wanted:
                    raise Refusal("TP110", f"{kernel.name} is called with and without a block pointer", node)

    def _parameters(self, callee: Kernel, name: str) -> list[tuple[Part, str]]:
        """What stands for a parameter of a helper that is a block pointer: the parts it uses, with their names."""
        for web in self.webs[callee].all():
            if web.parameter == name:
                return [(part, web.variables[part]) for part in parts_of(web.rank)]
        return []


def _language(module: SourceModule) -> str:
    """The file's name for `triton.language`, which the lines that are added use."""
    for name, meanings in module.bindings.imported.items():
        if "triton.language" in meanings:
            return name
    for name, meanings in module.bindings.imported.items():
        if "triton" in meanings:
            return f"{name}.language"
    name = "tl"
    while name in module.bindings.imported or name in module.bindings.assigned:
        name += "_"
    module.bindings.imported[name] = ["triton.language"]
    return name
