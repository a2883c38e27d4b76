"""Cases: how a kernel file is run and judged.

A case is a Python module: the kernel file itself, or `<stem>_case.py` beside it. It defines

    make_inputs(device, seed)     a dict of arguments, on the CPU's random numbers so that every device gets the same
    launch(**inputs)              runs the kernels and returns their results
    reference(**inputs)           optional: the same results by torch, in any precision
    TOL                           optional: dict(atol=, rtol=, equal_nan=) for the original against `reference`
    COMPILE_SPECS                 optional: what to compile offline (fn, signature, constexprs, attrs, num_warps, ...)
    SIZES                         optional: parameters of `make_inputs` that are sizes, each with the block that cuts it
    VIEWS                         optional: inputs that are run placed in memory in other ways too (verify/views.py)
    seeds                         optional: the seeds to run, in place of 0, 1, 2
    KERNEL_FILE                   optional, for a case that lies elsewhere: the kernel file, relative to the case
    variants()                    optional: yields dicts; a key that is a parameter of `make_inputs` is passed to it,
                                  any other replaces that entry of its result
"""

import ast
import inspect
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.modules import ModuleSpace, ModuleText, module_name
from tritonport.verify.places import first_line, import_failure
from tritonport.verify.views import read_views

Inputs = dict[str, Any]

DEFAULT_SEEDS = (0, 1, 2)
PORT_MARK = "[port]"
"""Follows the path of a kernel file where a position in its converted text is meant."""

_ENTRY_POINTS = ("make_inputs", "launch")


@dataclass(frozen=True)
class Tolerance:
    """How far the original may be from `reference`; None stands for the default of the result's type."""

    atol: float | None = None
    rtol: float | None = None


@dataclass(frozen=True)
class Case:
    """A case loaded against one text of its kernel file.

    Attributes:
        path: the file of the case.
        kernel_file: the file of the kernels.
        module: the name under which the kernel file was executed.
        make_inputs, launch, reference: the functions of the case; they run with the case's modules in place.
        tol: `TOL`.
        compile_specs: `COMPILE_SPECS`, in order; `fn` is the kernel of this side.
        seeds: `seeds` of the case, or None.
        sizes: `SIZES` of the case, as it stands there.
        views: `VIEWS` of the case: the ways that each input is placed in.
        variants: gives the variants for a device and a seed, the plain case (an empty dict) first.
        space: the modules of this side.
        files: file names in tracebacks of this case, each with the path to show.
    """

    path: Path
    kernel_file: Path
    module: str
    make_inputs: Callable[..., Inputs]
    launch: Callable[..., Any]
    reference: Callable[..., Any] | None
    tol: Tolerance
    compile_specs: tuple[Mapping[str, Any], ...]
    seeds: tuple[int, ...] | None
    variants: Callable[[str, int], list[Inputs]]
    space: ModuleSpace
    files: Mapping[str, str]
    sizes: Mapping[str, Any] = field(default_factory=dict)
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _scratch: object = field(default=None, repr=False, compare=False)

    def inputs(self, device: str, seed: int, variant: Mapping[str, Any]) -> Inputs:
        """Fresh inputs: `make_inputs(device, seed)`, varied."""
        extra = _keywords(self.make_inputs) & variant.keys()
        made = self.make_inputs(device, seed, **{name: variant[name] for name in extra})
        if not isinstance(made, Mapping):
            raise TypeError(f"make_inputs returned {type(made).__name__}, not a dict of arguments for launch")
        return {**made, **{name: value for name, value in variant.items() if name not in extra}}


def _keywords(function: Callable[..., Any]) -> set[str]:
    """The parameters of `make_inputs` beyond the device and the seed."""
    return set(list(inspect.signature(function).parameters)[2:])


def _case_error(code: str, message: str, path: Path | str, line: int = 1, column: int = 1) -> InputError:
    return InputError(Diagnostic(code, message, str(path), line, column))


def read_source(file: Path) -> str:
    """The text of a Python file; raises InputError where it cannot be read."""
    import tokenize

    try:
        with tokenize.open(file) as stream:
            return stream.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise _case_error(codes.UNREADABLE, f"cannot read the file: {why}", file) from error


def _parse(text: str, file: Path) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        raise _case_error(codes.UNPARSABLE, f"does not parse: {first_line(error)}", file, line, column) from error


def _bound_names(body: Iterable[ast.stmt]) -> dict[str, int]:
    """The names that a module's top level binds, each with the line of its last binding."""
    names: dict[str, int] = {}
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[statement.name] = statement.lineno
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                names[(alias.asname or alias.name).partition(".")[0]] = statement.lineno
        elif isinstance(statement, ast.If | ast.Try):
            names.update(_bound_names(statement.body))
            names.update(_bound_names(statement.orelse))
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for node in (node for target in targets for node in ast.walk(target)):
                if isinstance(node, ast.Name):
                    names[node.id] = statement.lineno
    return names


def defines_case(file: Path) -> bool:
    """Whether a file defines `make_inputs` and `launch` at its top level; it is parsed, not executed.

    Raises InputError for a file that cannot be read or does not parse.
    """
    text = read_source(file)
    if not all(name in text for name in _ENTRY_POINTS):
        return False
    return all(name in _bound_names(_parse(text, file).body) for name in _ENTRY_POINTS)


def named_kernel_file(case: Path) -> Path | None:
    """The kernel file that a case names by `KERNEL_FILE`, relative to itself; None where it names none.

    Raises InputError for a file that cannot be read or does not parse.
    """
    text = read_source(case)
    if "KERNEL_FILE" not in text:
        return None
    for statement in _parse(text, case).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            if "KERNEL_FILE" in names:
                return case.parent / str(statement.value.value)
    return None


def case_beside(kernel_file: Path) -> Path:
    """Where the case of a kernel file is looked for when the file has none of its own."""
    return kernel_file.with_name(f"{kernel_file.stem}_case.py")


def find_case(kernel_file: Path, explicit: Path | None = None) -> Path:
    """The case of a kernel file: `explicit`, the file itself, or `<stem>_case.py` beside it.

    Raises InputError where there is none (TP805) or the one that was named does not exist.
    """
    if explicit is not None:
        if not explicit.is_file():
            raise _case_error(codes.UNREADABLE, "there is no such case", explicit)
        return explicit
    beside = case_beside(kernel_file)
    if beside.is_file():
        return beside
    if defines_case(kernel_file):
        return kernel_file
    message = f"no case: the file does not define make_inputs and launch, and there is no {beside.name} beside it"
    hint = f"Write {beside.name}: make_inputs(device, seed) returns the arguments of launch, which runs the kernels."
    raise InputError(Diagnostic(codes.NOT_COMPARABLE, message, str(kernel_file), 1, 1, None, hint))


def _sources(case: Path, kernel_file: Path, text: str, code_file: Path) -> tuple[list[ModuleText], list[Path]]:
    name, root = module_name(kernel_file)
    sources, folders = [ModuleText(name, kernel_file, text, code_file)], [root, kernel_file.parent]
    if case != kernel_file:
        case_name, case_root = module_name(case)
        sources.append(ModuleText(case_name, case, read_source(case), case))
        folders += [case_root, case.parent]
    return sources, list(dict.fromkeys(folders))


def load_case(case: Path, kernel_file: Path, kernel_text: str | None = None, code_file: Path | None = None) -> Case:
    """Executes the kernel file and then its case.

    Args:
        case: as `find_case` gives it.
        kernel_file: the original's file, under whose module name the text is executed.
        kernel_text: the port's text; None executes the file as it stands.
        code_file: a file that holds `kernel_text`, as tracebacks are to name it; None writes a temporary one.

    Raises InputError where either raises at import (TP804) or the case does not follow the protocol (TP813).
    """
    shown = {str(kernel_file.resolve()): str(kernel_file), str(case.resolve()): str(case)}
    case, kernel_file = case.resolve(), kernel_file.resolve()
    scratch = None
    if kernel_text is None:
        kernel_text, code_file = read_source(kernel_file), kernel_file
    elif code_file is None:
        scratch = tempfile.TemporaryDirectory(prefix="tritonport-")
        code_file = Path(scratch.name) / kernel_file.name
        code_file.write_text(kernel_text, encoding="utf-8")
        shown[str(code_file)] = f"{shown[str(kernel_file)]}{PORT_MARK}"
    else:
        shown[str(code_file.resolve())] = str(code_file)
        code_file = code_file.resolve()
    sources, folders = _sources(case, kernel_file, kernel_text, code_file)
    space = ModuleSpace(sources, folders)
    # Both through the case's space: the case may be the kernel file, and its own imports decide what it gets.
    kernel_module = _execute(space, sources[0], shown)
    module = _execute(space, sources[-1], shown) if len(sources) > 1 else kernel_module
    return _read_protocol(module, sources, space, shown, scratch)


def _execute(space: ModuleSpace, source: ModuleText, shown: Mapping[str, str]) -> ModuleType:
    try:
        return space.load(source.name)
    except (Exception, SystemExit) as error:
        place, chain = import_failure(error, shown)
        path, line, column = (place.path, place.line, place.column) if place else (shown[str(source.code_file)], 1, 1)
        what = "does not parse" if isinstance(error, SyntaxError) else "raises when it is imported"
        raise _case_error(codes.RAISED, f"{what}: {first_line(error)}{chain}", path, line, column) from error


def _read_protocol(
    module: ModuleType, sources: list[ModuleText], space: ModuleSpace, shown: Mapping[str, str], scratch: object
) -> Case:
    case = sources[-1]
    lines = _bound_names(_parse(case.text, case.file).body)

    def wrong(name: str, message: str) -> InputError:
        return _case_error(codes.CASE_PROTOCOL, message, shown[str(case.code_file)], lines.get(name, 1))

    for name in _ENTRY_POINTS:
        if not callable(getattr(module, name, None)):
            raise wrong(name, f"the case does not define {name}")
    for name in ("reference", "variants"):
        if not callable(getattr(module, name, len)):
            raise wrong(name, f"{name} of the case is not a function")
    tol = getattr(module, "TOL", {})
    if not isinstance(tol, Mapping) or tol.keys() - {"atol", "rtol", "equal_nan"}:
        raise wrong("TOL", "TOL of the case is not dict(atol=, rtol=, equal_nan=)")
    specs = getattr(module, "COMPILE_SPECS", ())
    if not isinstance(specs, list | tuple) or not all(isinstance(spec, Mapping) and "fn" in spec for spec in specs):
        raise wrong("COMPILE_SPECS", "COMPILE_SPECS of the case is not a list of dict(fn=, signature=, ...)")
    seeds = getattr(module, "seeds", None)
    if seeds is not None and not (isinstance(seeds, list | tuple | range) and all(isinstance(s, int) for s in seeds)):
        raise wrong("seeds", "seeds of the case is not a list of integers")
    sizes = getattr(module, "SIZES", {})
    if not isinstance(sizes, Mapping) or sizes.keys() - _keywords(module.make_inputs):
        raise wrong("SIZES", "SIZES of the case is not a dict whose keys are parameters of make_inputs")
    try:
        views = read_views(getattr(module, "VIEWS", {}))
    except ValueError as error:
        raise wrong("VIEWS", f"of the case: {error}") from error
    reference = getattr(module, "reference", None)
    return Case(
        path=case.file,
        kernel_file=sources[0].file,
        module=sources[0].name,
        make_inputs=_within(space, module.make_inputs),
        launch=_within(space, module.launch),
        reference=None if reference is None else _within(space, reference),
        tol=Tolerance(tol.get("atol"), tol.get("rtol")),
        compile_specs=tuple(specs),
        seeds=None if seeds is None else tuple(seeds),
        variants=_within(space, _variants_of(getattr(module, "variants", None))),
        space=space,
        files=shown,
        sizes=sizes,
        views=views,
        _scratch=scratch,
    )


def _within(space: ModuleSpace, function: Callable[..., Any]) -> Callable[..., Any]:
    import functools

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        with space.active():
            return function(*args, **keywords)

    return call


def _variants_of(function: Callable[..., Any] | None) -> Callable[[str, int], list[Inputs]]:
    def variants(device: str, seed: int) -> list[Inputs]:
        if function is None:
            return [{}]
        takes_device = len(inspect.signature(function).parameters) >= 2
        return [{}, *(dict(variant) for variant in (function(device, seed) if takes_device else function()))]

    return variants
