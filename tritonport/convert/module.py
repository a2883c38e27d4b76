"""Writing a whole file: which kernels change, and the helpers they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.values import Kind, Refusal
from tritonport.convert.functions import FunctionWriter
from tritonport.convert.helper_versions import HelperVersion, Inconsistent, grouped_calls
from tritonport.convert.imported import Imported
from tritonport.convert.output import OutputFile
from tritonport.convert.recipes import load_recipes
from tritonport.layouts.recover.claims import RecoveredLayouts
from tritonport.report import Diagnostic
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import calls_in


class ModuleWriter(OutputFile):
    """Converts the kernels of one file that can be converted; `refusals` says why the others cannot.

    Attributes:
        imported: what comes from other files.
        written: the kernels that are converted.
        helpers: the Gluon versions of what they call.
    """

    def __init__(
        self,
        module: SourceModule,
        triton: str,
        wanted: frozenset[str] | None = None,
        target: str = "sm_90",
        recovered: Mapping[str, RecoveredLayouts] | None = None,
        follow: bool = False,
    ) -> None:
        load_recipes()
        super().__init__(module, triton, target, recovered, follow)
        self.imported = Imported(self)
        self.wanted = wanted
        self.refusals: dict[Kernel, Diagnostic] = {}
        self.helpers: dict[Kernel, list[HelperVersion]] = {}
        self.written: dict[Kernel, cst.FunctionDef] = {}
        self._unfollowed: set[Kernel] = set()

    def clear(self) -> None:
        super().clear()
        self.helpers.clear()
        self.written.clear()
        self.imported.clear()

    # -- kernels

    def run(self) -> None:
        """Analyse, solve and write; a kernel that is refused late is left out and the rest is done again."""
        callers = self.analysis.callers
        entries = [
            kernel
            for kernel in self.module.kernels
            if kernel.language == "triton"
            and (self.wanted is None or kernel.name in self.wanted)
            and (kernel not in callers.called or kernel in callers.launched)
        ]
        while True:
            self.clear()
            remaining = [kernel for kernel in entries if kernel not in self.refusals]
            if self._analyse(remaining) and self._write():
                break
        self.diagnostics += [self._own_layouts(*found) for found in self.analysis.not_recovered.items()]

    def _own_layouts(self, kernel: Kernel, refusal: Refusal) -> Diagnostic:
        message = f"{kernel.name} has layouts of the port's own: with Triton's it cannot be written ({refusal.message})"
        line = self.module.line_of(kernel)
        return Diagnostic("TP207", message, self.module.path, line, 1, kernel.name)

    def _analyse(self, entries: list[Kernel]) -> bool:
        for kernel in entries:
            try:
                self.analysis.analyse(kernel)
            except Refusal as refusal:
                self._refuse(kernel, refusal)
                return False
        return True

    def _write(self) -> bool:
        for kernel, analysed in self.analysis.kernels.items():
            try:
                writer = FunctionWriter(self, kernel, [analysed.frame])
                self.written[kernel] = writer.write()
                self._only_kernels(writer, analysed.frame)
            except (Refusal, Inconsistent) as problem:
                if isinstance(problem, Inconsistent):
                    problem = Refusal("TP204", f"{kernel.name} cannot be written for all of its calls", kernel.node)
                self._refuse(kernel, problem)
                return False
        return True

    def _only_kernels(self, writer: FunctionWriter, frame: Frame) -> None:
        """What gives something back is no kernel: its callers, in other files, know what its arguments are."""
        kernel = frame.kernel
        gives_back = any(value.kind is not Kind.NONE for _, value in frame.returns)
        if gives_back and len(writer.layouts) and kernel not in self.analysis.callers.launched:
            raise Refusal(
                "TP201",
                f"{kernel.name} makes tensors for its callers, and no kernel of this file calls it",
                kernel.node,
                "nothing to do: a kernel that imports it gets a Gluon copy of it",
            )

    def _refuse(self, kernel: Kernel, refusal: Refusal) -> None:
        if self.follow and kernel not in self._unfollowed:
            # Written once more, with the helpers that work as they are left where they are.
            self._unfollowed.add(kernel)
            return
        if self.analysis.recovered(kernel) is not None:
            # Written once more, with layouts of the port's own.
            self.analysis.not_recovered[kernel] = refusal
            return
        line, column = self.module.position(refusal.node if refusal.node is not None else kernel.node)
        self.refusals[kernel] = Diagnostic(
            refusal.code, refusal.message, self.module.path, line, column, kernel.name, refusal.hint
        )

    # -- helpers

    def helper(self, kernel: Kernel, frames: list[Frame]) -> HelperVersion:
        if kernel not in self.helpers:
            self.helpers[kernel] = self._write_helper(kernel)
        for version in self.helpers[kernel]:
            if all(frame in version.frames for frame in frames):
                return version
        raise Inconsistent

    def helper_function(self, node: cst.Call, callee: Kernel, written: HelperVersion) -> cst.BaseExpression:
        for frame in self.analysis.all_frames():
            for other in frame.variants.get(node, ()):
                found = self.helper(other.kernel, [other])
                if found.as_it_is is not written.as_it_is or (
                    (found.slots, found.again, found.shared) != (written.slots, written.again, written.shared)
                ):
                    raise Refusal("TP102", f"the definitions of {callee.name} need different calls in Gluon", node)
                if callee.module is not self.module and not found.as_it_is:
                    said = f"{callee.name} of {callee.module.name} has several definitions that change"
                    raise Refusal("TP102", said, node)
        if written.as_it_is:
            return node.func if self.reading is self.module else self.global_name(node.func)
        if written.name != callee.name or callee.module is not self.module:
            return cst.Name(written.name)
        return node.func

    def _write_helper(self, kernel: Kernel) -> list[HelperVersion]:
        frames = self.analysis.helper_frames[kernel]
        if kernel.module is not self.module and self.imported.works_as_it_is(kernel, frames):
            if self._follows(kernel, frames):
                with suppress(Refusal, Inconsistent):
                    return [self._version(kernel, frames, 0, False)]
            self.imported.tell(kernel, frames)
            return [HelperVersion(kernel.name, kernel, frames, as_it_is=True)]
        unrolled = [frame for frame in frames if frame.unrolled]
        if not all(self.imported.unchanged(kernel, [frame]) for frame in unrolled):
            raise Refusal("TP105", f"a loop over the items of a tuple in {kernel.name}", kernel.node)
        keep_original = self._needed_by_triton(kernel)
        for groups in ([frames], grouped_calls(frames)):
            with suppress(Inconsistent):
                return self._versions(kernel, groups, keep_original)
        said = f"{kernel.name} cannot be written for all of its calls: {self._calls(frames)}"
        raise Refusal("TP204", said, kernel.node if kernel.module is self.module else None)

    def _versions(self, kernel: Kernel, groups: Sequence[list[Frame]], keep_original: bool) -> list[HelperVersion]:
        """One version of a helper for each group of its calls; Inconsistent where a group needs more."""
        versions: list[HelperVersion] = []
        for group in groups:
            written = self._version(kernel, group, len(versions), keep_original)
            if not any(version.serves_too(written) for version in versions):
                versions.append(written)
        return versions

    def _calls(self, frames: Sequence[Frame]) -> str:
        """The calls of a helper that one text would have to serve, as they are written, with their lines."""
        found: dict[str, None] = {}
        for frame in frames:
            if frame.call is not None and frame.caller is not None:
                module = frame.caller.kernel.module
                text = " ".join(module.tree.code_for_node(frame.call).split())
                found.setdefault(f"`{text}` in line {module.position(frame.call)[0]}")
        return ", ".join(found)

    def _follows(self, kernel: Kernel, frames: list[Frame]) -> bool:
        """Whether a helper that works as it is gets a Gluon version all the same: it is of this project, and the one
        definition of its name."""
        return self.follows_file(kernel.module) and not any(
            frame.chain[-1].kernel in self._unfollowed
            or (frame.caller is not None and frame.call is not None and frame.caller.variants.get(frame.call))
            for frame in frames
        )

    def _version(self, kernel: Kernel, frames: list[Frame], number: int, keep_original: bool) -> HelperVersion:
        writer = FunctionWriter(self, kernel, frames)
        if kernel.module is not self.module:
            with self.reading_of(kernel):
                node = writer.write()
            name = self.imported.copied(kernel, node, number)
            return writer.version(name)
        node = writer.write()
        text = self.module.tree.code_for_node(node)
        name = kernel.name
        if keep_original:
            name = f"{name}_gluon"
        if number:
            name = f"{name}_{number + 1}"
        if name != kernel.name:
            node = node.with_changes(name=cst.Name(name))
        return writer.version(name, node, text)

    def _needed_by_triton(self, kernel: Kernel) -> bool:
        """Whether a kernel that stays Triton calls this helper."""
        for other in self.module.kernels:
            if other in self.analysis.kernels or other in self.analysis.helper_frames or other.language != "triton":
                continue
            if any(dotted(call.func) == kernel.name for call in calls_in(other.node)):
                return True
        return False

    # -- names of other files

    def passed_function(self, kernel: Kernel, node: cst.BaseExpression) -> cst.BaseExpression:
        return self.imported.function(kernel, node)

    def global_name(self, node: cst.BaseExpression) -> cst.BaseExpression:
        return self.imported.name(node)
