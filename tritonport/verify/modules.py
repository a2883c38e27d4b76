"""Executing a kernel file and its case under their own module names, without leaving a trace in this process.

A case says `from softmax import softmax` and must get the port when the port is under test: also when the kernel file
lies in a package, when the package's `__init__` or a sibling imports it, and when `launch` imports it late. So the text
is substituted by an import hook that goes by the *file* of a module, and the modules of one side are in `sys.modules`
only while that side runs.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

_SHARED = frozenset({"tritonport", "torch", "triton", "numpy", "__main__", "__mp_main__"})
"""Modules and packages of which both sides use the one that is loaded."""


@dataclass(frozen=True)
class ModuleText:
    """The text to execute in place of a file.

    Attributes:
        name: the name of the module, dotted in a package.
        file: the file that the module is; its `__file__`.
        text: what to execute.
        code_file: the file that code objects name and `inspect` reads: it exists and holds `text`.
    """

    name: str
    file: Path
    text: str
    code_file: Path


class _TextLoader(importlib.abc.Loader):
    def __init__(self, source: ModuleText) -> None:
        self.source = source

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def get_source(self, fullname: str) -> str:
        return self.source.text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source.text, str(self.source.code_file), "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)


class _TextFinder(importlib.abc.MetaPathFinder):
    def __init__(self, sources: Sequence[ModuleText]) -> None:
        self._by_name = {source.name: source for source in sources}
        self._by_file = {os.path.realpath(source.file): source for source in sources}
        # A case beside a kernel file in a package may import it by its plain name, which no folder on the path gives.
        self._by_stem = {source.file.stem: source for source in sources if _is_package(source.file.parent)}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        source = self._by_name.get(fullname)
        if source is None:
            found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if found is not None and found.origin is not None:
                source = self._by_file.get(os.path.realpath(found.origin))
            elif found is None and path is None:
                source = self._by_stem.get(fullname)
            if source is None:
                return None
        folder = [str(source.file.parent)] if source.file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, source.file, loader=_TextLoader(source), submodule_search_locations=folder
        )


def module_name(file: Path) -> tuple[str, Path]:
    """The name under which a file is imported, and the folder that must be on `sys.path` for it.

    A file in a package gets its dotted name. A file whose name is that of a module this process depends on (`copy.py`)
    gets another one: it cannot be imported by its own name anyway.
    """
    root = file.parent
    parts = [] if file.name == "__init__.py" else [file.stem.replace(".", "_")]
    while (root / "__init__.py").is_file() and root != root.parent:
        parts.insert(0, root.name)
        root = root.parent
    if parts[0] in sys.stdlib_module_names or parts[0] in _SHARED:
        parts[0] = f"{parts[0]}_file"
    return ".".join(parts), root


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()


@cache
def _home(file: str) -> str:
    """The folder that a module, or the package of an `__init__.py`, is imported from."""
    folder, name = os.path.split(file)
    return os.path.realpath(os.path.dirname(folder) if name == "__init__.py" else folder)


class ModuleSpace:
    """The modules of one side: the original's or the port's."""

    def __init__(self, sources: Sequence[ModuleText], folders: Sequence[Path]) -> None:
        """Args:
        sources: the texts to substitute.
        folders: what to put first on `sys.path`, in order; those that are packages are left out.
        """
        self._finder = _TextFinder(sources)
        self._top_names = {source.name.partition(".")[0] for source in sources}
        # Where torch is installed, everything is a sibling of the kernel file and nothing may be loaded twice.
        self._own_folders = {os.path.realpath(folder) for folder in folders if not (folder / "torch").is_dir()}
        # What stands in a package is not to be imported from outside of it: its `queue.py` is no `queue`.
        folders = [folder for folder in folders if not _is_package(folder)]
        self._path = [*map(str, folders), *sys.path]
        self._modules: dict[str, ModuleType] = {}
        self._foreign: dict[str, ModuleType | None] = {}
        self._depth = 0

    def _owned(self) -> dict[str, ModuleType]:
        """What in `sys.modules` belongs to this side: the substituted modules, their packages, their siblings."""
        # Thousands of modules are loaded, and this runs twice per call of a case: only those at the top are looked at,
        # and what was not this side's is not looked at again.
        foreign, unset = self._foreign, object()
        modules = [found for found in list(sys.modules.items()) if foreign.get(found[0], unset) is not found[1]]
        siblings = {name for name, module in modules if "." not in name and self._is_sibling(module)} - _SHARED
        if not siblings <= self._top_names:
            # What was loaded under these names as another's goes with them.
            self._top_names |= siblings
            modules = list(sys.modules.items())
        inside = tuple(f"{top}." for top in self._top_names)
        owned = {name: module for name, module in modules if name in self._top_names or name.startswith(inside)}
        foreign |= {name: module for name, module in modules if name not in owned}
        return owned

    def _is_sibling(self, module: ModuleType | None) -> bool:
        file = getattr(module, "__file__", None)
        return isinstance(file, str) and _home(file) in self._own_folders

    @contextmanager
    def active(self) -> Iterator[None]:
        """Puts this side's modules in place, and what was there before back afterwards."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        path, others = list(sys.path), self._owned()
        for name in others:
            del sys.modules[name]
        sys.modules.update(self._modules)
        sys.path[:] = self._path
        sys.meta_path.insert(0, self._finder)
        importlib.invalidate_caches()
        self._depth = 1
        try:
            yield
        finally:
            self._depth = 0
            sys.meta_path.remove(self._finder)
            self._path = list(sys.path)
            sys.path[:] = path
            self._modules = self._owned()
            for name in self._modules:
                del sys.modules[name]
            sys.modules.update(others)

    def load(self, name: str) -> ModuleType:
        """Imports a module of this side, or returns it where it is loaded; raises whatever its code raises."""
        with self.active():
            return importlib.import_module(name)
