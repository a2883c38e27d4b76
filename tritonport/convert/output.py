"""What one converted file is written with: its own names for Gluon, the functions it brings along, the Triton versions
it is right for.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.globals import language_entry, libdevice_name
from tritonport.convert.file_analysis import FileAnalysis
from tritonport.convert.helper_versions import HelperVersion
from tritonport.convert.snippets import available, of_one_target, render
from tritonport.convert.syntax import separated
from tritonport.layouts.recover.claims import RecoveredLayouts
from tritonport.report import Diagnostic
from tritonport.rules_data import TRITON_VERSIONS, load_api, version_key
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.project import same_project
from tritonport.source.syntax import dotted, from_dotted
from tritonport.source.walk import assigned_names


class OutputFile(ABC):
    """The file that is being written, as those who write its functions see it.

    Attributes:
        module: the file that is converted.
        reading: the file whose text is being written: another one for a helper that is copied.
        is_trial: whether this is written only to see what changes.
        snippets: the emitted functions that the file needs.
        entries_used: rows of the API table that the file needs.
        host_descriptors: kernels that are launched with tensor descriptors.
    """

    def __init__(
        self,
        module: SourceModule,
        triton: str,
        target: str,
        recovered: Mapping[str, RecoveredLayouts] | None = None,
        follow: bool = False,
    ) -> None:
        self.module = module
        self.analysis = FileAnalysis(module, recovered)
        self.reading = module
        self.is_trial = False
        self.triton = triton
        self.target = target
        self.follow = follow
        self.config = module.tree.config_for_parsing
        self.taken = _module_names(module)
        self.gluon = self._alias("triton.experimental.gluon", "gluon")
        self.gl = self._alias("triton.experimental.gluon.language", "gl")
        self.snippets: set[str] = set()
        self.entries_used: set[str] = set()
        self.imports_used: set[str] = set()
        self.host_descriptors: set[Kernel] = set()
        self.diagnostics: list[Diagnostic] = []
        self.needs_triton = False
        self.since, self.until = TRITON_VERSIONS[0], TRITON_VERSIONS[-1]

    def clear(self) -> None:
        """Forget a round of writing that is done again."""
        self.analysis.clear()
        self.snippets.clear()
        self.entries_used.clear()
        self.imports_used.clear()
        self.host_descriptors.clear()
        self.diagnostics.clear()
        self.since, self.until = TRITON_VERSIONS[0], TRITON_VERSIONS[-1]

    # -- what the other functions of the file are called

    @abstractmethod
    def helper(self, kernel: Kernel, frames: list[Frame]) -> HelperVersion:
        """The Gluon version of a helper that serves these calls of it.

        Raises:
            Inconsistent: no one version serves them all.
        """

    @abstractmethod
    def helper_function(self, node: cst.Call, callee: Kernel, written: HelperVersion) -> cst.BaseExpression:
        """What a call of a helper names in the output; refuses definitions that need different calls."""

    @abstractmethod
    def passed_function(self, kernel: Kernel, node: cst.BaseExpression) -> cst.BaseExpression:
        """A jit function of another file where it is not called: the combine function of a reduction."""

    @abstractmethod
    def global_name(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """A global name in the text of a helper of another file, made available in this one."""

    def follows_file(self, module: SourceModule) -> bool:
        """Whether the helpers of a file are ported into a file of their own."""
        own, other = self.module.file, module.file
        return self.follow and own is not None and other is not None and own != other and same_project(own, other)

    def place(self, node: cst.CSTNode, frame: Frame) -> tuple[str, int, int]:
        """Path, line and column to report a node at: what stands in another file, at the call that leads there."""
        while frame.kernel.module is not self.module and frame.caller is not None and frame.call is not None:
            node, frame = frame.call, frame.caller
        return self.module.path, *self.module.position(node)

    @contextmanager
    def reading_of(self, kernel: Kernel) -> Iterator[None]:
        """Write a helper whose names are those of another file."""
        saved, self.reading = self.reading, kernel.module
        try:
            yield
        finally:
            self.reading = saved

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Write only to see what changes: names stay, and nothing is remembered."""
        saved = self.is_trial, self.since, self.until
        sets = self.snippets, self.entries_used
        kept = set(self.snippets), set(self.entries_used)
        count = len(self.diagnostics)
        self.is_trial = True
        try:
            yield
        finally:
            self.is_trial, self.since, self.until = saved
            for live, before in zip(sets, kept, strict=True):
                live.intersection_update(before)
            del self.diagnostics[count:]

    # -- names

    def _alias(self, qualified: str, default: str) -> str:
        for name, meanings in self.module.bindings.imported.items():
            if qualified in meanings:
                return name
        name, number = default, 2
        while name in self.taken or self.is_bound(name):
            name, number = f"{default}{number}", number + 1
        return name

    @cached_property
    def triton_module(self) -> str:
        """What the file calls triton."""
        for name, meanings in self.module.bindings.imported.items():
            if meanings == ["triton"]:
                return name
        self.needs_triton = True
        return "triton"

    def language_name(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """`gl.load` for `tl.load` under whatever name the file has it; other names as they are."""
        if isinstance(node, cst.SimpleString):
            return self._string_annotation(node)
        if self.is_trial:
            return node
        passed = self._function_of(node)
        if passed is not None:
            return self.passed_function(passed, node)
        names = self.reading.qualified_names(node)
        if any(libdevice_name(name) for name in names) or len({name.rpartition(".")[2] for name in names}) > 1:
            return node if self.reading is self.module else self.global_name(node)
        for name in names:
            if not name.startswith("triton.language"):
                continue
            entry = language_entry(name)
            if entry is None:
                continue
            target = entry.target(self.triton)
            self.entries_used.add(entry.name)
            if target is None or not target.startswith("gl."):
                break
            return from_dotted(self.local_name(target)).with_changes(lpar=node.lpar, rpar=node.rpar)
        return node if self.reading is self.module else self.global_name(node)

    def _function_of(self, node: cst.BaseExpression) -> Kernel | None:
        """A jit function of another file that stands in the text without being called."""
        meanings = self.reading.lookup(dotted(node) or "")
        if len(meanings) == 1 and meanings[0].kernel is not None and meanings[0].kernel.module is not self.module:
            return meanings[0].kernel
        return None

    def _string_annotation(self, node: cst.SimpleString) -> cst.BaseExpression:
        """`"tl.constexpr"` as an annotation: quotes stay, the name changes."""
        text = node.value
        if self.module.is_constexpr(node) and not self.is_trial:
            return node.with_changes(value=re.sub(r"[\w.]*constexpr", f"{self.gl}.constexpr", text))
        return node

    def gl_call(self, name: str, arguments: Sequence[cst.BaseExpression]) -> cst.Call:
        self.entries_used.add(f"tl.{name}")
        return cst.Call(cst.Attribute(cst.Name(self.gl), cst.Name(name)), separated(list(map(cst.Arg, arguments))))

    def snippet_call(self, name: str, arguments: Sequence[cst.Arg]) -> cst.Call:
        """A call of one of the functions that a port brings along, with `, ` between the arguments."""
        return cst.Call(cst.Name(self.snippet_name(name)), separated(arguments))

    def snippet_name(self, name: str) -> str:
        """The name of an emitted function in this file, which is another one where the file already uses it."""
        self.snippets.add(name)
        return self.renamed_snippets.get(name, name)

    @cached_property
    def renamed_snippets(self) -> dict[str, str]:
        """Emitted functions whose names the file uses for something else."""
        names = {node.value for node in self.module.nodes if type(node) is cst.Name}
        defined = {
            statement.name.value: self.module.tree.code_for_node(statement).strip()
            for statement in self.module.tree.body
            if isinstance(statement, cst.FunctionDef) and statement.name.value in available(self.target)
        }
        renamed = {}
        for name in available(self.target) & names:
            if defined.get(name) == render(name, self.gluon, self.gl, {}, self.target, self.triton).strip():
                continue
            if name in defined or name in self.taken or self.is_bound(name):
                fresh, number = f"gl_{name}", 2
                while fresh in names:
                    fresh, number = f"gl_{name}_{number}", number + 1
                renamed[name] = fresh
        return renamed

    def is_bound(self, name: str) -> bool:
        """Whether a kernel has a parameter or a local of this name, which would hide an emitted function."""
        return name in self._names_in_kernels

    @cached_property
    def _names_in_kernels(self) -> set[str]:
        return {
            name
            for kernel in self.module.kernels
            for name in (*(parameter.name for parameter in kernel.parameters), *assigned_names(kernel.node))
        }

    def local_name(self, target: str) -> str:
        """A name of the API table under this file's own alias for `gl`, or behind the `tma` that it imports."""
        place, _, name = target.rpartition(".")
        own = self.reading is self.module and not self.follow
        if place == "gl.nvidia.hopper.tma" and own and "tma" not in self.taken and not self.is_bound("tma"):
            self.imports_used.add("from triton.experimental.gluon.language.nvidia.hopper import tma")
            return f"tma.{name}"
        return target.replace("gl.", f"{self.gl}.", 1) if target.startswith("gl.") else target

    def renamed(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """Code that is not analysed, with its names brought up to date."""
        written = node.visit(_Renamer(self))
        assert isinstance(written, cst.BaseExpression)
        return written

    # -- versions

    def versions(self) -> tuple[str, str]:
        """The first and last Triton version that the names in the output are right for."""
        fitting = [
            version
            for version in TRITON_VERSIONS
            if version_key(self.since) <= version_key(version) <= version_key(self.until)
            and all(
                load_api()[name].target(version) == load_api()[name].target(self.triton)
                for name in self.entries_used
                if name in load_api()
            )
        ]
        return (fitting[0], fitting[-1]) if fitting else (self.triton, self.triton)

    def header(self, emitted: Iterable[str]) -> str:
        """The comment that says what a file is: its stage, the architecture if it depends on one, the Triton versions.

        emitted: the functions that the file brings along. Dots are written for one architecture, everything else for
        all of them.
        """
        since, until = self.versions()
        versions = f"Triton {since}" if since == until else f"Triton {since} to {until}"
        target = "" if of_one_target().isdisjoint(emitted) else f" for {self.target}"
        return f"# tritonport: stage literal{target}, {versions}"

    def limit(self, since: str | None = None, until: str | None = None) -> None:
        """Something written fits these Triton versions alone."""
        self.since = max(self.since, since or self.since, key=version_key)
        self.until = min(self.until, until or self.until, key=version_key)


class _Renamer(cst.CSTTransformer):
    """Brings the names of code that is not analysed up to date: `tl.float32` is `gl.float32`."""

    def __init__(self, module: OutputFile) -> None:
        super().__init__()
        self.module = module

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return dotted(node) is None

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if dotted(original_node) is not None:
            return self.module.language_name(original_node)
        return updated_node


def _module_names(module: SourceModule) -> set[str]:
    bindings = module.bindings
    return {*bindings.imported, *bindings.assigned, *bindings.functions, *bindings.kernels}
