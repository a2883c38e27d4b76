"""Helpers that are ported into a file of their own beside theirs, for every port that calls them (`--follow`).

The helper's file stays as it is for whoever is not ported. Its Gluon version has the name of the file with `_gluon`
behind it, and holds the functions that ports import from there, what these bring along, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst

from tritonport.convert.copies import with_jit
from tritonport.convert.imported import Copy
from tritonport.convert.long_lines import break_long_lines
from tritonport.convert.module import ModuleWriter
from tritonport.convert.snippets import render, snippet, with_dependencies
from tritonport.report import Diagnostic
from tritonport.source.project import package_level
from tritonport.source.walk import assigned_names, children

SUFFIX = "_gluon"


@dataclass(frozen=True)
class FollowedFile:
    """What one port needs of the Gluon version of one helper file.

    Attributes:
        module: the dotted name of the helper's file, `pkg.ops.math`.
        file: where that file lies.
        header: the comment at the top.
        imports: import lines.
        functions: name and source of each, in order: a function stands behind those it calls.
        references: how import statements of the port and of other such files name the Gluon version.
    """

    module: str
    file: Path
    header: str
    imports: tuple[str, ...]
    functions: tuple[tuple[str, str], ...]
    references: tuple[str, ...]


@dataclass
class FollowPlan:
    """Which of the copies of a port go elsewhere.

    Attributes:
        copies: those that do.
        imports: the lines of the port that bring them back.
        files: what they go into.
    """

    copies: list[Copy] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    files: tuple[FollowedFile, ...] = ()


def names_in(node: cst.CSTNode) -> Iterator[str]:
    """The names in a tree, without those that follow a dot or name an argument."""
    if isinstance(node, cst.Name):
        yield node.value
    inner = [node.value] if isinstance(node, (cst.Attribute, cst.Arg)) else children(node)
    for child in inner:
        yield from names_in(child)


def plan(writer: ModuleWriter, needed: Sequence[Copy]) -> FollowPlan:
    """Distribute the copies that a port needs over the Gluon versions of their files."""
    followed = _followable(writer, needed) if writer.follow else []
    if not followed:
        return FollowPlan()
    groups = _groups(followed)
    canonical = _canonical_names(groups)
    files = [_Group(writer, members, groups, canonical) for members in groups]
    lines = []
    used = _named_in_port(writer, [copy for copy in needed if not any(copy is other for other in followed)])
    for group in files:
        named = sorted(_imported_as(canonical[id(copy)], copy.name) for copy in group.members if copy.name in used)
        if named:
            lines.append(f"from {group.reference} import {', '.join(named)}")
    for copy in followed:
        _tell(writer, copy)
    return FollowPlan(followed, lines, tuple(group.file() for group in files))


def _named_in_port(writer: ModuleWriter, stay: Sequence[Copy]) -> set[str]:
    """What the kernels of the port name, and the copies that stay in it."""
    helpers = [version.node for versions in writer.helpers.values() for version in versions if version.node is not None]
    return {
        name for node in (*writer.written.values(), *helpers, *(copy.node for copy in stay)) for name in names_in(node)
    }


def _names_of(copy: Copy) -> Iterator[str]:
    """What the text of a copy names, its decorators left out."""
    return names_in(copy.node.with_changes(decorators=[]))


def _followable(writer: ModuleWriter, needed: Sequence[Copy]) -> list[Copy]:
    """Copies of the same project that need nothing of the port itself, nor a copy that does."""
    own = set(writer.module.bindings.kernels) | writer.module.bindings.functions
    by_name = {copy.name: copy for copy in needed}
    kept = {
        copy.name
        for copy in needed
        if writer.follows_file(copy.kernel.module)
        and not (own - set(by_name)) & set(_names_of(copy))
        and all(_import_line(writer, name) is not None for name in _free_names(writer, copy, by_name))
    }
    changed = True
    while changed:
        bad = {name for name in kept if (set(_names_of(by_name[name])) & set(by_name)) - kept}
        kept -= bad
        changed = bool(bad)
    return [copy for copy in needed if copy.name in kept]


def _free_names(writer: ModuleWriter, copy: Copy, copies: dict[str, Copy]) -> list[str]:
    """What a copy names of the port's own imports, or of those that copies bring along."""
    local = {parameter.name for parameter in copy.kernel.parameters} | set(assigned_names(copy.node))
    known = {*writer.module.bindings.imported, *writer.imported.imports}
    return [name for name in dict.fromkeys(_names_of(copy)) if name in known and name not in local | set(copies)]


def _import_line(writer: ModuleWriter, name: str) -> str | None:
    """The statement that binds a name of the port in another file; None where it depends on which import works."""
    if name in writer.imported.imports:
        return writer.imported.imports[name]
    meanings = writer.module.lookup(name)
    if len(meanings) != 1 or len(writer.module.bindings.imported[name]) != 1:
        return None
    qualified = meanings[0].qualified
    parent, _, last = qualified.rpartition(".")
    if not parent or meanings[0].kind == "module" or qualified == "triton.language":
        return f"import {qualified}" if qualified == name else f"import {qualified} as {name}"
    return f"from {parent} import {_imported_as(last, name)}"


def _imported_as(name: str, local: str) -> str:
    return name if name == local else f"{name} as {local}"


def _groups(copies: Sequence[Copy]) -> list[list[Copy]]:
    """The copies by the file they go into: files whose functions call each other in a circle share one."""
    by_module: dict[str, list[Copy]] = {}
    for copy in copies:
        by_module.setdefault(copy.kernel.module.name, []).append(copy)
    home = {copy.name: copy.kernel.module.name for copy in copies}
    reach = {
        module: {home[name] for copy in members for name in _names_of(copy) if name in home} | {module}
        for module, members in by_module.items()
    }
    for _ in reach:
        reach = {module: set().union(*(reach[other] for other in others)) for module, others in reach.items()}
    groups: dict[str, list[Copy]] = {}
    for copy in copies:  # callees first
        module = copy.kernel.module.name
        circle = sorted(other for other in reach[module] if module in reach[other])
        groups.setdefault(circle[0], []).append(copy)
    return list(groups.values())


def _canonical_names(groups: Sequence[Sequence[Copy]]) -> dict[int, str]:
    """The names of the functions in their own files, by the identity of the copy."""
    found: dict[int, str] = {}
    for members in groups:
        taken: set[str] = set()
        for copy in members:
            name, number = copy.kernel.name, 2
            while name in taken:
                name, number = f"{copy.kernel.name}_{number}", number + 1
            taken.add(name)
            found[id(copy)] = name
    return found


class _Group:
    """The copies of one port that go into one file."""

    def __init__(
        self, writer: ModuleWriter, members: list[Copy], groups: list[list[Copy]], canonical: dict[int, str]
    ) -> None:
        self.writer = writer
        self.members = members
        self.canonical = canonical
        self.others = [copy for group in groups if group is not members for copy in group]
        self.home = {id(copy): _home(group) for group in groups for copy in group}
        self.module = min((copy.kernel.module for copy in members), key=lambda module: module.name)

    @property
    def absolute(self) -> str:
        """The dotted name of the file they go into."""
        return _home(self.members)

    @property
    def reference(self) -> str:
        """How the port names that file: relative to itself where it imports from its package that way."""
        own = self.writer.module
        relative = [
            spelled
            for copy in self.members
            for name in (copy.kernel.name, copy.name)
            for spelled in own.bindings.imported.get(name, ())
            if spelled.startswith(".")
        ]
        if not relative or own.file is None:
            return self.absolute
        return package_level(own.name, own.file, self.absolute)

    def file(self) -> FollowedFile:
        functions = [*self._emitted(), *((self.canonical[id(copy)], self._source(copy)) for copy in self.members)]
        header = self.writer.header(self._snippets())
        assert self.module.file is not None
        return FollowedFile(
            self.module.name,
            self.module.file,
            f"{header}, helpers of {self.module.name}",
            tuple(self._imports(functions)),
            tuple(functions),
            tuple(dict.fromkeys((self.reference, self.absolute))),
        )

    def _source(self, copy: Copy) -> str:
        """The text of a function under the names that it and its neighbours have in their own file."""
        renamed = {other.name: self.canonical[id(other)] for other in self.members}
        node = with_jit(self.writer, copy).visit(_Renamed(renamed))
        assert isinstance(node, cst.FunctionDef)
        module = copy.kernel.module
        return break_long_lines(
            module.tree.code_for_node(node).strip("\n") + "\n", module.text, str(self.writer.config.default_indent)
        )

    def _emitted(self) -> list[tuple[str, str]]:
        """The text of those functions, under the names that the port has for them."""
        writer = self.writer
        return [
            (
                writer.renamed_snippets.get(name, name),
                render(name, writer.gluon, writer.gl, writer.renamed_snippets, writer.target, writer.triton).strip()
                + "\n",
            )
            for name in self._snippets()
        ]

    def _snippets(self) -> list[str]:
        """The functions that every port brings along, as far as these need them."""
        writer = self.writer
        named = {name for copy in self.members for name in _names_of(copy)}
        used = {name for name in writer.snippets if writer.renamed_snippets.get(name, name) in named}
        return with_dependencies(used, writer.target)

    def _imports(self, functions: Sequence[tuple[str, str]]) -> Iterator[str]:
        writer = self.writer
        alias = "" if writer.gluon == "gluon" else f" as {writer.gluon}"
        lines = [f"from triton.experimental import gluon{alias}"]
        if any(f"{writer.gl}." in text for _, text in functions):
            lines.append(f"from triton.experimental.gluon import language as {writer.gl}")
        copies = {copy.name: copy for copy in (*self.members, *self.others)}
        for name in self._snippets():
            lines += snippet(name, writer.target)[0]
        for copy in self.members:
            for name in _free_names(writer, copy, copies):
                line = _import_line(writer, name)
                if line is not None and name not in (writer.gl, writer.gluon):
                    lines.append(line)
            used = set(_names_of(copy))
            lines += [
                f"from {self.home[id(other)]} import {_imported_as(self.canonical[id(other)], other.name)}"
                for other in self.others
                if other.name in used
            ]
        yield from dict.fromkeys(lines)


def _home(members: Sequence[Copy]) -> str:
    return f"{min(copy.kernel.module.name for copy in members)}{SUFFIX}"


class _Renamed(cst.CSTTransformer):
    """Other names for functions; what follows a dot or names an argument is not one of them."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.names.get(updated_node.value, updated_node.value))


def _tell(writer: ModuleWriter, copy: Copy) -> None:
    """Say once, at the first call in the port, that a helper is ported too."""
    kernel = copy.kernel
    for frame in writer.analysis.helper_frames.get(kernel, ()):
        if frame.caller is not None and frame.call is not None and frame.caller.kernel.module is writer.module:
            line, column = writer.module.position(frame.call)
            message = f"{kernel.qualified!r} of {kernel.module.name} is ported too, beside it"
            found = Diagnostic("TP108", message, writer.module.path, line, column, frame.caller.kernel.name)
            if not any((one.code, one.message) == (found.code, found.message) for one in writer.diagnostics):
                writer.diagnostics.append(found)
            return


__all__ = ["SUFFIX", "FollowPlan", "FollowedFile", "names_in", "plan"]
