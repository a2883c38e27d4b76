"""Writing a whole file: which kernels change, the helpers they share, imports and decorators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from tritonport.analysis.calls import language_entry, libdevice_name
from tritonport.analysis.dims import canonical
from tritonport.analysis.frame import Frame
from tritonport.analysis.interpreter import Interpreter, assigned_names
from tritonport.analysis.signatures import signature
from tritonport.analysis.values import Kind, Refusal
from tritonport.convert.alignment import Alignment, asked_of, tile_names
from tritonport.convert.expressions import Inconsistent
from tritonport.convert.follow import FollowPlan
from tritonport.convert.functions import FunctionWriter
from tritonport.convert.imported import Imported, call_signature, written_as_it_is
from tritonport.convert.places import Places
from tritonport.convert.recipes import load_recipes
from tritonport.convert.snippets import available, of_one_target, render
from tritonport.convert.wants import Want
from tritonport.layouts.pinned import Pinned
from tritonport.layouts.recover.claims import RecoveredLayouts
from tritonport.layouts.solver import collect, frames_of, solve
from tritonport.layouts.stores import split_types, split_unaligned
from tritonport.layouts.terms import Root, Term, root_of
from tritonport.report import Diagnostic
from tritonport.rules_data import TRITON_VERSIONS, load_api, version_key
from tritonport.source.module import Kernel, SourceModule, dotted, from_dotted
from tritonport.source.project import same_project
from tritonport.source.walk import walk


@dataclass
class Written:
    """One Gluon version of a helper: its name, its text, and the layouts it has to be given.

    `text` is that of the source's own name, which versions have in common.
    `shared`: arguments that it takes in shared memory, each with the operand of dots it is and the layouts of their
    results. `again`: arguments that it takes in further layouts, each with these and the name of the parameter for it.
    `as_it_is`: the Triton function of another file, which needs no version of its own.
    """

    name: str
    kernel: Kernel
    frames: list[Frame]
    node: cst.FunctionDef | None = None
    slots: list[tuple[str, list[object]]] = field(default_factory=list)
    as_it_is: bool = False
    text: str | None = None
    again: list[tuple[str, list[object], str]] = field(default_factory=list)
    shared: dict[str, tuple[int, Want]] = field(default_factory=dict)

    def serves_too(self, other: Written) -> bool:
        """Take over the calls of another version, where it has the same text."""
        if self.text is None or self.text != other.text or self.shared.keys() != other.shared.keys():
            return False
        self.frames = [*self.frames, *other.frames]
        pairs = zip(self.slots, other.slots, strict=True)
        self.slots = [(name, [*roots, *more]) for (name, roots), (_, more) in pairs]
        again = zip(self.again, other.again, strict=True)
        self.again = [(argument, [*terms, *more], name) for (argument, terms, name), (_, more, _) in again]
        self.shared = {name: (index, (*want, *other.shared[name][1])) for name, (index, want) in self.shared.items()}
        return True

    def shared_for(self, callees: Sequence[Frame | None]) -> dict[str, tuple[int, Want]]:
        """The arguments in shared memory, with the layouts for the given frames."""
        positions = [None if frame is None else self.frames.index(frame) for frame in callees]
        return {
            name: (index, tuple(None if position is None else want[position] for position in positions))
            for name, (index, want) in self.shared.items()
        }

    def again_for(self, callees: Sequence[Frame | None]) -> list[tuple[str, Want, str]]:
        """The arguments that are given again, with the layouts for the given frames."""
        positions = [None if frame is None else self.frames.index(frame) for frame in callees]
        return [
            (argument, tuple(None if position is None else terms[position] for position in positions), name)  # type: ignore[misc]
            for argument, terms, name in self.again
        ]

    def slots_for(self, callees: Sequence[Frame | None]) -> list[tuple[str, list[Term | None]]]:
        """The layout parameters with their terms for the given frames."""
        positions = [None if frame is None else self.frames.index(frame) for frame in callees]
        return [
            (name, [None if position is None else roots[position] for position in positions])  # type: ignore[misc]
            for name, roots in self.slots
        ]


@dataclass
class Analysed:
    kernel: Kernel
    frame: Frame
    integers: set[str]


class ModuleWriter:
    """Converts the kernels of one file that can be converted; `left` says why the others cannot."""

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
        self.module = module
        self.reading = module
        self.imported = Imported(self)
        self.is_trial = False
        self.triton = triton
        self.target = target
        self.config = module.tree.config_for_parsing
        self.taken = _module_names(module)
        self.gluon = self._alias("triton.experimental.gluon", "gluon")
        self.gl = self._alias("triton.experimental.gluon.language", "gl")
        self.snippets: set[str] = set()
        self.entries_used: set[str] = set()
        self.imports_used: set[str] = set()
        self.specialise = True
        self.needs_triton = False
        self._terms_by_shape: dict[Frame, dict[tuple[str, ...], Term]] = {}
        self.diagnostics: list[Diagnostic] = []
        self.refusals: dict[Kernel, Diagnostic] = {}
        self.wanted = wanted
        self.host_descriptors: set[Kernel] = set()
        self.analysed: dict[Kernel, Analysed] = {}
        self.helpers: dict[Kernel, list[Written]] = {}
        self.helper_frames: dict[Kernel, list[Frame]] = {}
        self.written: dict[Kernel, cst.FunctionDef] = {}
        self.since, self.until = TRITON_VERSIONS[0], TRITON_VERSIONS[-1]
        self._integers: dict[int, set[str]] = {}
        self.follow = follow
        self.followed = FollowPlan()
        self._unfollowed: set[Kernel] = set()
        self._recovered = recovered or {}
        self._places = Places()
        self._not_recovered: dict[Kernel, Refusal] = {}

    def _alias(self, qualified: str, default: str) -> str:
        for name, meanings in self.module.bindings.imported.items():
            if qualified in meanings:
                return name
        name, number = default, 2
        while name in self.taken or self._is_bound(name):
            name, number = f"{default}{number}", number + 1
        return name

    # -- analysis

    def run(self) -> None:
        """Analyse, solve and write; a kernel that is refused late is left out and the rest is done again."""
        candidates = [
            kernel
            for kernel in self.module.kernels
            if kernel.language == "triton" and (self.wanted is None or kernel.name in self.wanted)
        ]
        called = self._called
        entries = [kernel for kernel in candidates if kernel not in called or kernel in self._launched]
        while True:
            self._reset()
            remaining = [kernel for kernel in entries if kernel not in self.refusals]
            if self._analyse(remaining) and self._write():
                break
        self.diagnostics += [self._own_layouts(*found) for found in self._not_recovered.items()]
        self._orphans(candidates, called)

    def _own_layouts(self, kernel: Kernel, refusal: Refusal) -> Diagnostic:
        message = f"{kernel.name} has layouts of the port's own: with Triton's it cannot be written ({refusal.message})"
        line = self.module.line_of(kernel)
        return Diagnostic("TP207", message, self.module.path, line, 1, kernel.name)

    def _reset(self) -> None:
        self.analysed.clear()
        self.helpers.clear()
        self.helper_frames.clear()
        self.written.clear()
        self.snippets.clear()
        self.entries_used.clear()
        self.imports_used.clear()
        self.host_descriptors.clear()
        self.diagnostics.clear()
        self.imported.clear()
        self.since, self.until = TRITON_VERSIONS[0], TRITON_VERSIONS[-1]

    def _analyse(self, entries: list[Kernel]) -> bool:
        for kernel in entries:
            interpreter = Interpreter(self.module)
            try:
                frame = interpreter.run(kernel)
                frames = list(frames_of(frame))
                values = solve(frames, self._pins(kernel, frames))
            except Refusal as refusal:
                self._refuse(kernel, refusal)
                return False
            self.analysed[kernel] = Analysed(kernel, frame, interpreter.integers)
            self._integers[id(frame)] = interpreter.integers
            alignment = self.alignment_of(frame, (root_of(value.focus) for value in values if value.focus is not None))
            split_types(values)
            split_unaligned(values, alignment.depends)
            for inner in frames:
                if inner is not frame:
                    self.add_helper_frame(inner, interpreter.integers)
        return True

    def recovered(self, kernel: Kernel) -> RecoveredLayouts | None:
        """The layouts that a kernel is given, unless it cannot be written with them."""
        return None if kernel in self._not_recovered else self._recovered.get(kernel.name)

    def _pins(self, kernel: Kernel, frames: list[Frame]) -> dict[int, Pinned]:
        recovered = self.recovered(kernel)
        if recovered is None:
            return {}
        placed = self._places.values(frames)
        return {id(value): recovered.layouts[chain] for chain, *_, value in placed if chain in recovered.layouts}

    def add_helper_frame(self, frame: Frame, integers: set[str]) -> None:
        """One more call that a helper's Gluon version has to serve."""
        self._integers[id(frame)] = integers
        self.helper_frames.setdefault(frame.kernel, []).append(frame)

    def _write(self) -> bool:
        for kernel, analysed in self.analysed.items():
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
        if gives_back and writer.layouts and kernel not in self._launched:
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
        if self.recovered(kernel) is not None:
            # Written once more, with layouts of the port's own.
            self._not_recovered[kernel] = refusal
            return
        line, column = self.module.position(refusal.node if refusal.node is not None else kernel.node)
        self.refusals[kernel] = Diagnostic(
            refusal.code, refusal.message, self.module.path, line, column, kernel.name, refusal.hint
        )

    def place(self, node: cst.CSTNode, frame: Frame) -> tuple[str, int, int]:
        """Path, line and column to report a node at: what stands in another file, at the call that leads there."""
        while frame.kernel.module is not self.module and frame.caller is not None and frame.call is not None:
            node, frame = frame.call, frame.caller
        return self.module.path, *self.module.position(node)

    def _orphans(self, candidates: list[Kernel], called: set[Kernel]) -> None:
        """Helpers whose every caller was left stay as they are, without a word of their own."""

    @cached_property
    def _called(self) -> set[Kernel]:
        found: set[Kernel] = set()
        for kernel in self.module.kernels:
            for call in _calls(kernel.node):
                path = dotted(call.func)
                if path is None:
                    continue
                other = self.module.bindings.kernels.get(path) or self.module.kernel_by_path(path, kernel)
                if other is not None and other is not kernel:
                    found.add(other)
        return found

    @cached_property
    def _launched(self) -> set[Kernel]:
        """Kernels that host code launches: `name[grid](...)`."""
        names = set()
        for call in self.module.nodes:
            if type(call) is cst.Call and isinstance(call.func, cst.Subscript):
                path = dotted(call.func.value)
                if path is not None:
                    names.add(path.split(".")[-1])
        return {kernel for kernel in self.module.kernels if kernel.name in names}

    def may_specialise(self, kernel: Kernel) -> bool:
        """Whether a kernel may get one more argument, which `@triton.heuristics` fills: it is only launched."""
        if kernel.decorator is None or kernel in self._called or not self.specialise:
            return False
        return kernel.name not in self._asked

    @cached_property
    def _asked(self) -> set[str]:
        return asked_of(self.module.nodes)

    @cached_property
    def triton_module(self) -> str:
        """What the file calls triton."""
        for name, meanings in self.module.bindings.imported.items():
            if meanings == ["triton"]:
                return name
        self.needs_triton = True
        return "triton"

    def integers_of(self, frame: Frame) -> set[str]:
        return self._integers.get(id(frame), set())

    def alignment_of(self, frame: Frame, roots: Iterable[Root]) -> Alignment:
        """What a launch of a kernel can say of how its rows lie; `roots` are the kernel's layouts."""
        parameters = {parameter.name for parameter in frame.kernel.parameters if not parameter.constexpr}
        compile_time = {parameter.name for parameter in frame.kernel.parameters} - parameters
        return Alignment(
            frozenset(self.integers_of(frame) & parameters),
            frozenset(compile_time - tile_names(roots)),
            self.may_specialise(frame.kernel),
            frozenset(compile_time),
        )

    def terms_by_shape(self, frame: Frame) -> dict[tuple[str, ...], Term]:
        """Some layout term for each shape that a kernel works on; the caller may add to it."""
        root = frame.chain[-1]
        if root not in self._terms_by_shape:
            self._terms_by_shape[root] = self._read_terms(root)
        return dict(self._terms_by_shape[root])

    @staticmethod
    def _read_terms(root: Frame) -> dict[tuple[str, ...], Term]:
        found: dict[tuple[str, ...], Term] = {}
        for value in collect(frames_of(root)):
            if value.is_tensor and value.focus is not None and value.op not in ("store", "parameter", "call"):
                found.setdefault(tuple(canonical(size) for size in value.shape), value.term)
        return found

    # -- helpers

    def helper(self, kernel: Kernel, frames: list[Frame]) -> Written:
        """The Gluon version of a helper that serves these calls of it."""
        if kernel not in self.helpers:
            self.helpers[kernel] = self._write_helper(kernel)
        for version in self.helpers[kernel]:
            if all(frame in version.frames for frame in frames):
                return version
        raise Inconsistent

    def helper_of(self, frame: Frame) -> Written:
        """The version that one call is served by."""
        return self.helper(frame.kernel, [frame])

    def helper_function(self, node: cst.Call, callee: Kernel, written: Written) -> cst.BaseExpression:
        """What a call of a helper names in the output; refuses definitions that need different calls."""
        for frame in [frame for frames in [*self.helper_frames.values()] for frame in frames] + [
            analysed.frame for analysed in self.analysed.values()
        ]:
            for other in frame.variants.get(node, ()):
                found = self.helper_of(other)
                if found.as_it_is is not written.as_it_is or (
                    (found.slots, found.again, found.shared) != (written.slots, written.again, written.shared)
                ):
                    raise Refusal("TP102", f"the definitions of {callee.name} need different calls in Gluon", node)
                if callee.module is not self.module and not found.as_it_is:
                    raise Refusal(
                        "TP102", f"{callee.name} of {callee.module.name} has several definitions that change", node
                    )
        if written.as_it_is:
            return node.func if self.reading is self.module else self.imported.name(node.func)
        if written.name != callee.name or callee.module is not self.module:
            return cst.Name(written.name)
        return node.func

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

    def _write_helper(self, kernel: Kernel) -> list[Written]:
        frames = self.helper_frames[kernel]
        if kernel.module is not self.module and self.imported.works_as_it_is(kernel, frames):
            if self._follows(kernel, frames):
                with suppress(Refusal, Inconsistent):
                    return [self._version(kernel, frames, 0, False)]
            self.imported.tell(kernel, frames)
            return [written_as_it_is(kernel, frames)]
        unrolled = [frame for frame in frames if frame.unrolled]
        if not all(self.imported.unchanged(kernel, [frame]) for frame in unrolled):
            raise Refusal("TP105", f"a loop over the items of a tuple in {kernel.name}", kernel.node)
        keep_original = self._needed_by_triton(kernel)
        try:
            return [self._version(kernel, frames, 0, keep_original)]
        except Inconsistent:
            groups: dict[tuple[object, ...], list[Frame]] = {}
            for frame in frames:
                groups.setdefault(call_signature(frame), []).append(frame)
            if len(groups) == 1:
                raise
            versions: list[Written] = []
            for group in groups.values():
                written = self._version(kernel, group, len(versions), keep_original)
                if not any(version.serves_too(written) for version in versions):
                    versions.append(written)
            return versions

    def _follows(self, kernel: Kernel, frames: list[Frame]) -> bool:
        """Whether a helper that works as it is gets a Gluon version all the same: it is of this project, and the one
        definition of its name."""
        return self.follows_file(kernel.module) and not any(
            frame.chain[-1].kernel in self._unfollowed
            or (frame.caller is not None and frame.call is not None and frame.caller.variants.get(frame.call))
            for frame in frames
        )

    def follows_file(self, module: SourceModule) -> bool:
        """Whether the helpers of a file are ported into a file of their own."""
        own, other = self.module.file, module.file
        return self.follow and own is not None and other is not None and own != other and same_project(own, other)

    def _version(self, kernel: Kernel, frames: list[Frame], number: int, keep_original: bool) -> Written:
        writer = FunctionWriter(self, kernel, frames)
        if kernel.module is not self.module:
            with self.reading_of(kernel):
                node = writer.write()
            name = self.imported.copied(kernel, node, number)
            return _written(name, kernel, frames, None, writer)
        node = writer.write()
        text = self.module.tree.code_for_node(node)
        name = kernel.name
        if keep_original:
            name = f"{name}_gluon"
        if number:
            name = f"{name}_{number + 1}"
        if name != kernel.name:
            node = node.with_changes(name=cst.Name(name))
        return _written(name, kernel, frames, node, writer, text)

    def _needed_by_triton(self, kernel: Kernel) -> bool:
        """Whether a kernel that stays Triton calls this helper."""
        for other in self.module.kernels:
            if other in self.analysed or other in self.helper_frames or other.language != "triton":
                continue
            for call in _calls(other.node):
                if dotted(call.func) == kernel.name:
                    return True
        return False

    # -- names

    def language_name(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """`gl.load` for `tl.load` under whatever name the file has it; other names as they are."""
        if isinstance(node, cst.SimpleString):
            return self._string_annotation(node)
        if self.is_trial:
            return node
        passed = self._passed_function(node)
        if passed is not None:
            return self.imported.function(passed, node)
        names = self.reading.qualified_names(node)
        if any(libdevice_name(name) for name in names) or len({name.rpartition(".")[2] for name in names}) > 1:
            return node if self.reading is self.module else self.imported.name(node)
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
        return node if self.reading is self.module else self.imported.name(node)

    def _passed_function(self, node: cst.BaseExpression) -> Kernel | None:
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
        space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args = [
            cst.Arg(argument, comma=space if index + 1 < len(arguments) else cst.MaybeSentinel.DEFAULT)
            for index, argument in enumerate(arguments)
        ]
        return cst.Call(cst.Attribute(cst.Name(self.gl), cst.Name(name)), args)

    def snippet_call(self, name: str, arguments: Sequence[cst.Arg]) -> cst.Call:
        """A call of one of the functions that a port brings along."""
        return cst.Call(cst.Name(self.snippet_name(name)), list(arguments))

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
            if name in defined or name in self.taken or self._is_bound(name):
                fresh, number = f"gl_{name}", 2
                while fresh in names:
                    fresh, number = f"gl_{name}_{number}", number + 1
                renamed[name] = fresh
        return renamed

    def _is_bound(self, name: str) -> bool:
        """Whether a kernel has a parameter or a local of this name, which would hide an emitted function."""
        return name in self._names_in_kernels

    @cached_property
    def _names_in_kernels(self) -> set[str]:
        return {
            name
            for kernel in self.module.kernels
            for name in (*(parameter.name for parameter in kernel.parameters), *assigned_names(kernel.node))
        }

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

    @staticmethod
    def separated(arguments: Sequence[cst.Arg]) -> list[cst.Arg]:
        """Arguments with `, ` between them."""
        return _comma_separated(list(arguments))

    def local_name(self, target: str) -> str:
        """A name of the API table under this file's own alias for `gl`, or behind the `tma` that it imports."""
        place, _, name = target.rpartition(".")
        own = self.reading is self.module and not self.follow
        if place == "gl.nvidia.hopper.tma" and own and "tma" not in self.taken and not self._is_bound("tma"):
            self.imports_used.add("from triton.experimental.gluon.language.nvidia.hopper import tma")
            return f"tma.{name}"
        return target.replace("gl.", f"{self.gl}.", 1) if target.startswith("gl.") else target

    # -- loops

    def iterator(self, writer: FunctionWriter, node: cst.Call) -> cst.BaseExpression:
        """`tl.range` is `range` unless it carries hints, which only Triton's own pipeliner reads: those stay, and are
        said."""
        arguments = [argument.with_changes(value=writer.emit(argument.value)) for argument in node.args]
        qualified = self.reading.qualified_names(node.func)
        entry = next((language_entry(name) for name in qualified if name.startswith("triton.language")), None)
        if entry is None or entry.short != "range":
            return node.with_changes(func=self.language_name(node.func), args=arguments)
        names = signature(entry.name).names
        by_place = zip(names, [argument for argument in node.args if argument.keyword is None], strict=False)
        hints = [f"{name}={self._source(argument.value)}" for name, argument in by_place if name not in _BOUNDS]
        for argument in node.args:
            if argument.keyword is not None and argument.keyword.value not in _BOUNDS:
                hints.append(f"{argument.keyword.value}={self._source(argument.value)}")
        if hints:
            said = ", ".join(hints)
            writer.note(
                "TP106", f"{said} {'is a hint' if len(hints) == 1 else 'are hints'} that Gluon does not act on", node
            )
            return node.with_changes(args=arguments)
        ordered: list[cst.Arg] = []
        by_name = {argument.keyword.value: argument for argument in arguments if argument.keyword is not None}
        if by_name:
            ordered = [argument for argument in arguments if argument.keyword is None]
            if "step" in by_name and "arg2" not in by_name and len(ordered) + ("arg1" in by_name) == 1:
                # `tl.range(n, step=2)` starts at 0: the one bound is the end.
                by_name["arg2"] = by_name.pop("arg1") if not ordered else ordered.pop()
                ordered.append(cst.Arg(cst.Integer("0")))
                arguments.append(ordered[0])
            for name in _BOUNDS[len(ordered) :]:
                if name in by_name:
                    ordered.append(by_name[name].with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT))
            if len(ordered) != len(arguments):
                return node.with_changes(args=arguments)
            arguments = _comma_separated(ordered)
        if self._is_bound("range"):
            return node.with_changes(args=arguments)
        return node.with_changes(func=cst.Name("range"), args=arguments)

    def _source(self, node: cst.CSTNode) -> str:
        """The text of a node on one line: it goes into a comment."""
        return " ".join(self.reading.tree.code_for_node(node).split())

    # -- local compile-time names in layouts

    def below_locals(self, text: str, node: cst.FunctionDef) -> int:
        """A layout's text may name local constexprs: the position in the body below the last of them."""
        place = 0
        if isinstance(node.body, cst.IndentedBlock):
            for name in set(re.findall(r"[A-Za-z_]\w*", text)):
                for index, statement in enumerate(node.body.body):
                    if _defines_constexpr(statement, name):
                        place = max(place, index + 1)
        return place


_BOUNDS = ("arg1", "arg2", "step")


def _comma_separated(arguments: list[cst.Arg]) -> list[cst.Arg]:
    space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    return [
        argument.with_changes(comma=space if index + 1 < len(arguments) else cst.MaybeSentinel.DEFAULT)
        for index, argument in enumerate(arguments)
    ]


def _defines_constexpr(statement: cst.BaseStatement, name: str) -> bool:
    if isinstance(statement, cst.SimpleStatementLine):
        return any(
            isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name) and small.target.value == name
            for small in statement.body
        )
    if isinstance(statement, cst.If):
        return any(
            _defines_constexpr(inner, name) for inner in statement.body.body if isinstance(inner, cst.BaseStatement)
        )
    return False


def _calls(node: cst.CSTNode) -> list[cst.Call]:
    return [item for item in walk(node) if isinstance(item, cst.Call)]


def _module_names(module: SourceModule) -> set[str]:
    bindings = module.bindings
    return {*bindings.imported, *bindings.assigned, *bindings.functions, *bindings.kernels}


def _written(
    name: str,
    kernel: Kernel,
    frames: list[Frame],
    node: cst.FunctionDef | None,
    writer: FunctionWriter,
    text: str | None = None,
) -> Written:
    slots: list[tuple[str, list[object]]] = [(slot, list(terms)) for slot, terms in writer.slots]
    again: list[tuple[str, list[object], str]] = [(given, list(want), copy) for given, want, copy in writer.again]
    return Written(name, kernel, frames, node, slots, text=text, again=again, shared=writer.shared)
