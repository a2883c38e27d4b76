"""Helpers that a kernel calls from other files.

Gluon compiles a `@triton.jit` function that a kernel calls with Gluon's rules. One that only computes on its arguments
is therefore called as it is. One that makes tensors, or needs anything written differently, is copied into the output
as a Gluon function, with what it calls; what else it names is imported from its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.values import Refusal
from tritonport.convert.functions import FunctionWriter
from tritonport.convert.helper_versions import Inconsistent, grouped_calls
from tritonport.convert.output import OutputFile
from tritonport.report import Diagnostic
from tritonport.rules_data import find_api
from tritonport.source.kernel import Kernel
from tritonport.source.meaning import Meaning
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import children, walk

# What the analysis calls by names that are not rows of the table: casts by dtype, device functions.
_PLAIN = frozenset({"dtype", "libdevice"})


@dataclass
class Copy:
    """A helper of another file as it stands in the output, and its text under its own name."""

    kernel: Kernel
    node: cst.FunctionDef
    name: str
    text: str


@dataclass
class Imported:
    """What one converted file takes from others.

    Attributes:
        copies: the helpers that are written into the output, callees first.
        imports: import lines the copies need, by the name they bind.
    """

    writer: OutputFile
    copies: list[Copy] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _functions: dict[Kernel, str | None] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def clear(self) -> None:
        """Forget a round of writing that is done again."""
        self.copies.clear()
        self.imports.clear()
        self.replaced.clear()
        self._names.clear()
        self._functions.clear()
        self._told.clear()

    # -- helpers

    def works_as_it_is(self, kernel: Kernel, frames: list[Frame]) -> bool:
        """Whether a call of the Triton function, compiled with Gluon's rules, does what it did."""
        if not all(self._works(name) for frame in frames for name in frame.operations.values()):
            return False
        for frame in frames:
            for callee in [*frame.calls.values(), *(other for row in frame.variants.values() for other in row)]:
                if callee.kernel.module is self.writer.module or not self._is_as_it_is(callee):
                    return False
            if any(self._name_of(passed) is not None for passed in self._passed_on(frame)):
                return False
        return all(self.unchanged(kernel, group) for group in grouped_calls(frames))

    def _is_as_it_is(self, callee: Frame) -> bool:
        return self.writer.helper(callee.kernel, [callee]).as_it_is

    def _passed_on(self, frame: Frame) -> list[Kernel]:
        """Jit functions of other files that a function names without calling them."""
        called = {id(call.func) for call in frame.calls}
        return [
            value.function
            for node, value in frame.values.items()
            if isinstance(value.function, Kernel)
            and value.function.module is not self.writer.module
            and id(node) not in called
            and node not in frame.reads
        ]

    def unchanged(self, kernel: Kernel, frames: list[Frame]) -> bool:
        """Whether the Gluon version is the Triton text: each call is compiled for itself, so calls need not agree."""
        text = kernel.module.tree.code_for_node(kernel.node)
        try:
            with self.writer.trial():
                function = FunctionWriter(self.writer, kernel, frames)
                node = function.write()
        except Inconsistent:
            return len(frames) > 1 and all(self.unchanged(kernel, [frame]) for frame in frames)
        return not function.takes_layouts and kernel.module.tree.code_for_node(node) == text

    def _works(self, name: str) -> bool:
        if name in _PLAIN:
            return True
        entry = find_api(f"tl.{name}")
        if entry is None:
            return False
        target = entry.target(self.writer.triton)
        return entry.status in ("same", "tl") and target in (f"gl.{entry.short}", f"tl.{entry.short}")

    def tell(self, kernel: Kernel, frames: Sequence[Frame]) -> None:
        """Say once that a helper is called as it is, at the first call in the converted file."""
        qualified = f"{kernel.module.path}:{kernel.qualified}"
        if qualified in self._told:
            return
        call = next((frame.call for frame in frames if frame.caller is not None and self._is_own(frame.caller)), None)
        if call is None:
            return
        self._told.add(qualified)
        line, column = self.writer.module.position(call)
        caller = next(frame.caller for frame in frames if frame.call is call)
        assert caller is not None
        message = f"{kernel.qualified!r} comes from {kernel.module.name} and is called as it is"
        found = Diagnostic("TP104", message, self.writer.module.path, line, column, caller.kernel.name)
        self.writer.diagnostics.append(found)

    def _is_own(self, frame: Frame) -> bool:
        return frame.kernel.module is self.writer.module

    def copied(self, kernel: Kernel, node: cst.FunctionDef, number: int) -> str:
        """Put a Gluon version of a helper into the output; its name there."""
        if any(
            kernel.module.jit_language(decorator.decorator) is None and not _is_static(decorator)
            for decorator in node.decorators
        ):
            said = f"{kernel.qualified} of {kernel.module.name} has decorators tritonport cannot read"
            raise Refusal("TP102", said, kernel.node)
        text = kernel.module.tree.code_for_node(node)
        for copy in self.copies:
            if copy.kernel is kernel and copy.text == text:
                return copy.name
        wanted = kernel.name if not number else f"{kernel.name}_{number + 1}"
        name = self._fresh(wanted, kernel)
        self.copies.append(Copy(kernel, node.with_changes(name=cst.Name(name)), name, text))
        return name

    def _fresh(self, wanted: str, kernel: Kernel) -> str:
        """The helper's own name where the output has that name for nothing else."""
        writer = self.writer
        used = {copy.name for copy in self.copies} | set(self.imports)
        if writer.follows_file(kernel.module):
            # Its import is exchanged for one of the Gluon version, under the name that the file has for it.
            for alias in writer.module.bindings.imported:
                means = writer.module.lookup(alias)
                if alias not in used and [one.kernel for one in means] == [kernel] and not self._used_elsewhere(alias):
                    self.replaced.add(alias)
                    return alias
        bound = writer.module.binds(wanted)
        if bound and wanted in writer.module.bindings.imported and wanted not in used:
            means = writer.module.lookup(wanted)
            if [one.kernel for one in means] == [kernel] and not self._used_elsewhere(wanted):
                self.replaced.add(wanted)
                return wanted
        # A name that a kernel uses for a local variable would hide the copy.
        taken = used | writer.taken | {node.value for node in walk(writer.module.tree) if isinstance(node, cst.Name)}
        if not bound and (wanted not in taken or _only_called(writer.module, wanted)) and wanted not in used:
            return wanted
        name, number = f"{wanted}_gluon", 2
        while name in taken:
            name, number = f"{wanted}_gluon_{number}", number + 1
        return name

    def _used_elsewhere(self, name: str) -> bool:
        """Whether anything but the converted kernels uses an imported name."""
        module = self.writer.module
        analysis = self.writer.analysis
        converted = {kernel.node for kernel in [*analysis.kernels, *analysis.helper_frames]}
        if module.file is not None and module.file.name == "__init__.py":
            return True
        stack: list[cst.CSTNode] = [module.tree]
        while stack:
            node = stack.pop()
            if node in converted or isinstance(node, (cst.Import, cst.ImportFrom)):
                continue
            if isinstance(node, cst.Name) and node.value == name:
                return True
            if isinstance(node, cst.SimpleString) and node.value.strip("'\"") == name:
                return True

            stack.extend(children(node))
        return False

    # -- functions that are passed on

    def function(self, kernel: Kernel, node: cst.BaseExpression) -> cst.BaseExpression:
        """A jit function of another file where it is not called: the combine function of a reduction."""
        name = self._name_of(kernel)
        if name is not None:
            return cst.Name(name)
        if self.writer.reading is self.writer.module:
            return node
        return self.name(node)

    def _name_of(self, kernel: Kernel) -> str | None:
        """The name of the Gluon version of a function that is passed on; None where it works as it is."""
        if kernel not in self._functions:
            self._functions[kernel] = self._passed(kernel)
        return self._functions[kernel]

    def _passed(self, kernel: Kernel) -> str | None:
        frame = self.writer.analysis.analyse_alone(kernel)
        if self.works_as_it_is(kernel, [frame]):
            return None
        with self.writer.reading_of(kernel):
            written = FunctionWriter(self.writer, kernel, [frame]).write()
        return self.copied(kernel, written, 0)

    # -- everything else a copy names

    def name(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """A global name in the text of a copied helper, made available in the output."""
        path = dotted(node)
        module = self.writer.reading
        if path is None or self.writer.is_trial:
            return node
        head, _, rest = path.partition(".")
        meanings = module.lookup(head)
        if not meanings:
            return node
        local = self._import(head, module, meanings)
        parsed = cst.parse_expression(f"{local}.{rest}" if rest else local)
        return parsed.with_changes(lpar=node.lpar, rpar=node.rpar)

    def _import(self, name: str, module: SourceModule, meanings: Sequence[Meaning]) -> str:
        qualified = [meaning.qualified for meaning in meanings]
        for own, bound in self.writer.module.bindings.imported.items():
            if bound == qualified and len(qualified) == 1:
                return own
        source, wanted = module.name, name
        external = [meaning for meaning in meanings if meaning.kind == "external" and "." in meaning.qualified]
        if len(meanings) == 1 and external:
            source, _, wanted = external[0].qualified.rpartition(".")
        key = (source, wanted)
        if key not in self._names:
            local, number = name, 2
            while local in self.imports or local in self.writer.taken:
                local, number = f"{name}_{number}", number + 1
            self._names[key] = local
            alias = "" if local == wanted else f" as {local}"
            self.imports[local] = f"from {source} import {wanted}{alias}"
        return self._names[key]


def _is_static(decorator: cst.Decorator) -> bool:
    return isinstance(decorator.decorator, cst.Name) and decorator.decorator.value == "staticmethod"


def _only_called(module: SourceModule, name: str) -> bool:
    """A name the file uses, but never binds in a kernel: `module.name(...)` says nothing of a global `name`."""
    for kernel in module.kernels:
        if any(parameter.name == name for parameter in kernel.parameters):
            return False
        for node in walk(kernel.node):
            if isinstance(node, cst.AssignTarget) and any(
                isinstance(item, cst.Name) and item.value == name for item in walk(node.target)
            ):
                return False
    return not module.binds(name)


__all__ = ["Copy", "Imported"]
