"""A guess at what a kernel is launched with, from its source text: for ``--guess-signature``.

What the text says is used before what names suggest: annotations, the calls ``kernel[grid](...)`` of the same file,
what the kernel does with a parameter. Autotune configurations, heuristics and defaults are added from the live kernel
by :func:`entry_for`. A guess is a specialisation to compile, not a claim about real launches.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tritonport.report import InputError
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.verify.compile.kernels import KernelSource, dotted, find_kernels
from tritonport.verify.compile.launch_values import launch_values, tuple_of
from tritonport.verify.compile.spec import SpecError, unwrap
from tritonport.verify.compile.suggested import live, suggested
from tritonport.verify.compile.uses import Uses, uses_of

_POINTER_NAME = re.compile(r"(?:.*_)?(?:ptrs?|pointers?)\d*(?:_.*)?", re.I)
_INTEGER_NAME = re.compile(
    r"seed|.*(index|idx|stride|size|count|steps?)|(n|num|max|min)_.*|.*_(id|len|rows|cols)", re.I
)
_POINTER_TYPES = (
    (re.compile(r"lock|semaphore|count", re.I), "*i32"),
    (re.compile(r"mask|is_", re.I), "*i1"),
    (re.compile(r"label|target|token|_ids?(_|$)", re.I), "*i64"),
    (re.compile(r"idx|index|indices|offsets?(_ptr|$)|seqlens|lengths|table", re.I), "*i32"),
    (re.compile(r"lse|mean|rstd|loss|logsumexp|delta", re.I), "*fp32"),
)
_USUAL_POINTER = "*bf16"
OTHER_POINTERS = ("*fp32", "*i32")
"""What a pointer of which nothing is known may be instead, where a kernel does not compile with ``bf16``."""


@dataclass(frozen=True)
class Guess:
    """What is known of one kernel's launch without importing it.

    signature: types of the run-time parameters. constexprs: values the file's own launch gives. fallbacks: values that
    names suggest, for constexprs nothing else gives. problem: why it cannot be guessed, None when it can.
    """

    kernel: str
    line: int
    language: str
    signature: dict[str, str] = field(default_factory=dict)
    constexprs: dict[str, Any] = field(default_factory=dict)
    fallbacks: dict[str, Any] = field(default_factory=dict)
    num_warps: int | None = None
    problem: str | None = None


def _is_constexpr(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)


def _type_of(parameter: str, uses: Uses, value: Any, default: ast.expr | None) -> str:
    if parameter in uses.pointers or _POINTER_NAME.fullmatch(parameter):
        named = next((kind for pattern, kind in _POINTER_TYPES if pattern.search(parameter)), None)
        return uses.pointers.get(parameter) or named or _USUAL_POINTER
    if isinstance(value, float) or (isinstance(default, ast.Constant) and isinstance(default.value, float)):
        return "fp32"
    is_factor = parameter in uses.operands and parameter not in uses.indices
    return "fp32" if is_factor and not _INTEGER_NAME.fullmatch(parameter) else "i32"


def _guess(kernel: KernelSource, module: ast.AST, functions: Mapping[str, ast.FunctionDef]) -> Guess:
    names = frozenset(parameter.arg for parameter in kernel.parameters)
    uses = uses_of(kernel.node, names, functions)
    values, warps = launch_values(kernel, module)
    arguments = kernel.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    defaults = {one.arg: value for one, value in zip(with_default, arguments.defaults, strict=True)}
    signature: dict[str, str] = {}
    constexprs: dict[str, Any] = {}
    fallbacks: dict[str, Any] = {}
    problem = None
    if "<locals>" in kernel.qualname:
        problem = "a function makes this kernel: only a case can name it"
    methods = {
        call.func.value.id
        for call in ast.walk(kernel.node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.attr in ("load", "store", "atomic_add")
    }
    for parameter in kernel.parameters:
        name = parameter.arg
        if name in methods and name not in uses.pointers:
            problem = problem or f"{name!r} is a tensor descriptor: only a case knows its block shape"
        strides = tuple_of(kernel, name, functions) if name not in values else None
        if strides is not None:
            # The compile takes tuples of compile-time values alone.
            constexprs[name] = strides
        elif _is_constexpr(parameter):
            if name in values:
                constexprs[name] = values[name]
            else:
                fallbacks[name] = suggested(kernel.node, name, module)
            if any(isinstance(call, ast.Call) and dotted(call.func) == name for call in ast.walk(kernel.node)):
                problem = problem or f"{name!r} is a function: only a case can pass one"
        elif name in values and (values[name] is None or (values[name] == 1 and type(values[name]) is int)):
            # Triton specialises None and the integer 1 to constants.
            constexprs[name] = values[name]
        else:
            signature[name] = _type_of(name, uses, values.get(name), defaults.get(name))
    return Guess(kernel.qualname, kernel.node.lineno, kernel.language, signature, constexprs, fallbacks, warps, problem)


def _imported_functions(module: ast.AST, text: str, path: str) -> dict[str, ast.FunctionDef]:
    """The jitted functions of other files that kernels call, by the name they are called by, each with its file's own.

    path: where the text lies, from which imports lead.
    """
    called = {dotted(node.func) for node in ast.walk(module) if isinstance(node, ast.Call)} - {""}
    try:
        source = SourceModule(text, path, shared_project())
    except InputError:
        return {}
    found: dict[str, ast.FunctionDef] = {}
    for name in sorted(called):
        if not source.binds(name.partition(".")[0]):
            continue
        kernels = [meaning.kernel for meaning in source.lookup(name) if meaning.kernel is not None]
        for kernel in kernels:
            if kernel.module is not source:
                functions = _functions_in(kernel.module.text)
                found |= {other: node for other, node in functions.items() if other not in found}
                if kernel.name in functions:
                    found[name] = functions[kernel.name]
    return found


@lru_cache(maxsize=64)
def _functions_in(text: str) -> dict[str, ast.FunctionDef]:
    """The jitted functions of a text by name."""
    return {kernel.name: kernel.node for kernel in find_kernels(text, strings=False)}


def guess(text: str, path: str | None = None) -> list[Guess]:
    """One guess per kernel of a source text, helpers that only other kernels call left out.

    path: where the text lies; what kernels do with a parameter in functions of other files is read there.

    - A parameter annotated constexpr takes the value the file's first launch gives it as a literal; otherwise the
      autotune configuration, heuristic or default of the live kernel; otherwise what its name suggests.
    - A parameter is a pointer where it is the root of an address, in the kernel or in a helper it is handed to, or is
      called one (``x_ptr``): to ``bf16``, unless its name or its use says otherwise (labels and loaded indices
      ``i64``, locks ``i32``, statistics and what atomics add to ``fp32``).
    - Anything else is ``i32``, or ``fp32`` when it is an operand of arithmetic, reaches no address, mask or trip
      count and is not named like a number of things (``n_rows``, ``seed``).
    - Pointers and integers are divisible by 16; an argument the launch gives as 1, None or ``x.stride(-1)`` is a
      constant.
    - A tuple (``x.stride()`` in the launch, ``len(strides)`` in the kernel) is the strides of a contiguous tensor, as a
      constant.
    """
    module = ast.parse(text)
    kernels = find_kernels(text, strings=False)
    functions = {kernel.name: kernel.node for kernel in kernels}
    if path is not None and kernels:
        functions = {**_imported_functions(module, text, path), **functions}
    return [_guess(kernel, module, functions) for kernel in kernels if kernel.is_entry]


def with_pointers(found: Guess, kind: str) -> Guess:
    """The guess with another type for the pointers of which nothing is known."""
    types = {name: kind if known == _USUAL_POINTER else known for name, known in found.signature.items()}
    return replace(found, signature=types)


def entry_for(found: Guess, fn: Any) -> dict[str, Any]:
    """The ``COMPILE_SPECS`` entry of a guess for the live kernel `fn`; SpecError when it cannot be guessed."""
    if found.problem is not None:
        raise SpecError(f"{found.kernel}: {found.problem}")
    jitted, layers = unwrap(fn)
    given: set[str] = set()
    for layer in layers:
        given.update(layer.configs[0].kwargs if getattr(layer, "configs", None) else getattr(layer, "values", {}))
    constexprs = {name: value for name, value in found.constexprs.items() if name not in given}
    for parameter in jitted.params:
        if parameter.name in found.fallbacks and parameter.name not in given and not parameter.has_default:
            constexprs.setdefault(parameter.name, live(found.fallbacks[parameter.name]))
    entry = {"fn": fn, "signature": dict(found.signature), "constexprs": constexprs}
    if found.num_warps is not None and not any(getattr(layer, "configs", None) for layer in layers):
        entry["num_warps"] = found.num_warps
    return entry
