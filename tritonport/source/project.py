"""The files that a file imports from: found on disk by name and read, never imported or run.

A module is looked for where Python would find it when the importing file runs as part of its package: the root of the
package (the first folder without an `__init__.py`), the folder of a script, a folder of the same name further up (a
package needs no `__init__.py`), a `src` beside them, and the folders of `sys.path`, where what is installed lies.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tritonport.report import InputError
from tritonport.source.meaning import Meaning

if TYPE_CHECKING:
    from tritonport.source.module import SourceModule

# Packages whose names mean what they are called: reading their files says nothing about a kernel and takes seconds.
_OPAQUE = frozenset({"triton", "torch", "numpy", "builtins"}) | sys.stdlib_module_names
# The Triton functions that torch.compile's kernels call are ordinary source in the installed torch.
_READ_ANYWAY = ("torch._inductor.runtime.",)
_PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_KEPT = 96


class Project:
    """Reads files once and resolves imported names to what they are defined as."""

    def __init__(self, search: Sequence[str] | None = None) -> None:
        self._search = search
        self.prepare: Callable[[SourceModule], SourceModule] | None = None
        """What is done to a file that was read before anything else sees it."""
        self._modules: OrderedDict[Path, tuple[tuple[int, int], SourceModule | None]] = OrderedDict()
        self._roots: dict[Path, tuple[Path, ...]] = {}

    # -- reading

    def read(self, file: Path) -> SourceModule | None:
        """The module of a file; None where it cannot be read or parsed."""
        from tritonport.source.module import SourceModule

        try:
            stat = file.stat()
        except OSError:
            return None
        stamp = stat.st_mtime_ns, stat.st_size
        if file in self._modules and self._modules[file][0] == stamp:
            self._modules.move_to_end(file)
            return self._modules[file][1]
        module: SourceModule | None = None
        with suppress(OSError, UnicodeDecodeError, InputError, RecursionError):
            module = SourceModule(file.read_text(encoding="utf-8"), str(file), self)
            if self.prepare is not None:
                module = self.prepare(module)
        self._modules[file] = stamp, module
        while len(self._modules) > _KEPT:
            self._modules.popitem(last=False)
        return module

    # -- finding

    def resolve(self, qualified: str, importer: SourceModule) -> list[Meaning]:
        """What `pkg.module.name` (or `..module.name`) is, through any number of re-exports."""
        top = qualified.partition(".")[0]
        if top in _OPAQUE and not qualified.startswith(_READ_ANYWAY):
            return [Meaning("external", qualified)]
        parts, folders = self._start(qualified, importer)
        if not parts:
            return [Meaning("external", qualified)]
        if qualified.startswith("."):
            found = self._of_package(folders[0], parts, importer)
            if found:
                return found
        for folder in folders:
            length, file = _longest(folder, parts)
            if file is None:
                continue
            if length == len(parts):
                return self._module_or_attribute(file, parts, folder, qualified)
            module = self.read(file)
            if module is None:
                break
            rest = ".".join(parts[length:])
            return module.lookup(rest) or [Meaning("external", f"{module.name}.{rest}")]
        return [Meaning("external", qualified)]

    def _of_package(self, folder: Path, parts: list[str], importer: SourceModule) -> list[Meaning]:
        """What `from . import name` takes from the `__init__.py` of the package, before a submodule of that name."""
        file = folder / "__init__.py"
        module = self.read(file) if file.is_file() and file != importer.file else None
        return module.lookup(".".join(parts)) if module is not None and module.binds(parts[0]) else []

    def _start(self, qualified: str, importer: SourceModule) -> tuple[list[str], Sequence[Path]]:
        """The parts of a name and the folders to look for the first of them in."""
        level = len(qualified) - len(qualified.lstrip("."))
        parts = [part for part in qualified.lstrip(".").split(".") if part]
        file = importer.file
        if level:
            if file is None:
                return [], ()
            folder = file.parent
            for _ in range(level - 1):
                folder = folder.parent
            return parts or ["__init__"], (folder,)
        return parts, tuple(self._search_folders(file, parts[0] if parts else ""))

    def _search_folders(self, file: Path | None, top: str) -> Iterator[Path]:
        if file is not None:
            folder = file.parent
            if folder not in self._roots:
                self._roots[folder] = tuple(dict.fromkeys(_roots(folder)))
            yield from self._roots[folder]
            for outer in folder.parents:
                if outer.name == top:
                    yield outer.parent
        for entry in sys.path if self._search is None else self._search:
            if entry:
                yield Path(entry)

    def _module_or_attribute(self, file: Path, parts: list[str], folder: Path, qualified: str) -> list[Meaning]:
        """`from pkg import name` takes what `pkg/__init__.py` calls `name` before a submodule of that name."""
        package = file.parent / "__init__.py" if file.name != "__init__.py" else file.parent.parent / "__init__.py"
        if len(parts) > 1 and package.is_file() and package != file:
            module = self.read(package)
            bound = module is not None and module.binds(parts[-1])
            if module is not None and bound:
                found = module.lookup(parts[-1])
                if found:
                    return found
        module = self.read(file)
        if module is None:
            return [Meaning("external", qualified)]
        return [Meaning("module", module.name, module)]


@cache
def shared_project() -> Project:
    """The files that all conversions of this process have in common, so that a helper's file is parsed once."""
    return Project()


def _roots(folder: Path) -> Iterator[Path]:
    """Where the top packages of a file in this folder can lie, nearest first."""
    root = folder
    while (root / "__init__.py").is_file() and root.parent != root:
        root = root.parent
    yield root
    yield folder
    for outer in (root, *root.parents):
        if any((outer / mark).exists() for mark in _PROJECT_MARKS):
            yield outer
            yield outer / "src"
            break


def _longest(folder: Path, parts: list[str]) -> tuple[int, Path | None]:
    """How many parts name a module below a folder, and its file."""
    best: tuple[int, Path | None] = (0, None)
    here = folder
    for index, part in enumerate(parts):
        package, plain = here / part / "__init__.py", here / f"{part}.py"
        if package.is_file():
            best = (index + 1, package)
        elif plain.is_file():
            return index + 1, plain
        elif not (here / part).is_dir():
            break
        here = here / part
    return best


def _package_root(file: Path) -> Path:
    """The folder that the top package of a file lies in; the file's own folder outside of a package."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def same_project(one: Path, other: Path) -> bool:
    """Whether two files are developed together: they lie in one package, or in one project's own folders."""
    root = _package_root(one)
    if root == _package_root(other):
        inside = root == one.parent and root == other.parent
        return inside or module_name(one).partition(".")[0] == module_name(other).partition(".")[0]
    for outer in (root, *root.parents):
        if any((outer / mark).exists() for mark in _PROJECT_MARKS):
            return other.is_relative_to(outer) and "site-packages" not in other.relative_to(outer).parts
    return False


def package_level(module: str, file: Path, target: str) -> str:
    """A dotted name as a module of the same package names it: `..math` for `pkg.math` from `pkg.ops.act`."""
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    parts = target.split(".")
    shared = 0
    while shared < min(len(package), len(parts) - 1) and package[shared] == parts[shared]:
        shared += 1
    if not shared:
        return target
    return "." * (len(package) - shared + 1) + ".".join(parts[shared:])


def path_in_package(file: Path) -> Path:
    """Where a file lies below the folder of its top package: `pkg/sub/mod.py`; its bare name outside of one."""
    return file.relative_to(_package_root(file))


def module_name(file: Path) -> str:
    """The dotted name of a file in its package: `pkg.sub.mod`; its bare name outside of one."""
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts) or file.stem


__all__ = ["Project", "module_name", "package_level", "path_in_package", "same_project", "shared_project"]
