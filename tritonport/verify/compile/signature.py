"""A guess at what a kernel is launched with, from its source text: for ``--guess-signature``.

What the text says is used before what names suggest: annotations, the calls ``kernel[grid](...)`` of the same file,
what the kernel does with a parameter. Autotune configurations, heuristics and defaults are added from the live kernel
by :func:`entry_for`. A guess is a specialisation to compile, not a claim about real launches.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tritonport.report import InputError
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.verify.compile.kernels import KernelSource, dotted, find_kernels
from tritonport.verify.compile.spec import SpecError, unwrap

_MEMORY = frozenset(
    {"load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor"}
)
_LOCK = frozenset({"atomic_cas", "atomic_xchg", "atomic_and", "atomic_or", "atomic_xor"})
_POINTER_NAME = re.compile(r"(?:.*_)?(?:ptrs?|pointers?)\d*(?:_.*)?", re.I)
_INTEGER_CALLS = frozenset({"range", "static_range", "arange", "cdiv", "multiple_of", "max_contiguous"})
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
DTYPE_OF_ACCUMULATORS = "float32"
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


def _names(node: ast.AST) -> Iterator[str]:
    """Names an expression uses, those inside a load of it left out: they index another tensor."""
    if isinstance(node, ast.Call) and _method(node) in _MEMORY:
        return
    if isinstance(node, ast.Name):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def _method(call: ast.Call) -> str:
    return dotted(call.func).rpartition(".")[2] if not isinstance(call.func, ast.Attribute) else call.func.attr


def _base(node: ast.expr, assigned: Mapping[str, list[ast.expr]], parameters: frozenset[str]) -> str | None:
    """The parameter at the root of a pointer expression: leftmost in sums, followed through assignments."""
    return next(_bases(node, assigned, parameters), None)


def _bases(
    node: ast.expr,
    assigned: Mapping[str, list[ast.expr]],
    parameters: frozenset[str],
    seen: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """The parameters that can be at the root of a pointer expression: of a name, under each of its assignments."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left = list(_bases(node.left, assigned, parameters, seen))
        yield from left or _bases(node.right, assigned, parameters, seen)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        yield from _bases(node.func.value, assigned, parameters, seen)
    elif isinstance(node, ast.Call) and _method(node) in ("multiple_of", "max_contiguous", "broadcast_to", "cast"):
        if node.args:
            yield from _bases(node.args[0], assigned, parameters, seen)
    elif isinstance(node, ast.IfExp):
        yield from _bases(node.body, assigned, parameters, seen)
        yield from _bases(node.orelse, assigned, parameters, seen)
    elif isinstance(node, ast.Name) and node.id not in seen:
        found = [
            base
            for value in assigned.get(node.id, ())
            for base in _bases(value, assigned, parameters, seen | {node.id})
        ]
        yield from dict.fromkeys(found)
        if not found and node.id in parameters:
            yield node.id


def _assignments(kernel: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for name, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(name, ast.Name):
                            found.setdefault(name.id, []).append(value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name) and node.value:
            found.setdefault(node.target.id, []).append(node.value)
    return found


@dataclass
class _Uses:
    """What a kernel does with its parameters."""

    pointers: dict[str, str | None]  # parameter -> element type its use demands
    indices: set[str]  # names, of parameters and locals, that reach addresses, masks or trip counts
    operands: set[str]  # names that stand in arithmetic or are handed to a function


def _uses(kernel: ast.FunctionDef, parameters: frozenset[str], functions: Mapping[str, ast.FunctionDef]) -> _Uses:
    """functions: the jitted functions of the file by name, to follow pointers into the helpers they are handed to."""
    assigned = _assignments(kernel)
    pointers: dict[str, str | None] = {}
    indices: set[str] = set()
    for call in (node for node in ast.walk(kernel) if isinstance(node, ast.Call)):
        helper = functions.get(dotted(call.func))
        if helper is None or helper is kernel:
            continue
        others = {name: one for name, one in functions.items() if one is not helper}
        names = [one.arg for one in (*helper.args.posonlyargs, *helper.args.args, *helper.args.kwonlyargs)]
        inner = _uses(helper, frozenset(names), others)
        given = [*zip(names, call.args, strict=False), *((one.arg, one.value) for one in call.keywords)]
        for name, value in given:
            base = _base(value, assigned, parameters) if name in inner.pointers else None
            if base and pointers.get(base) is None:
                pointers[base] = inner.pointers[name or ""]
            if name in inner.pointers or name in inner.indices:
                indices.update(_names(value))
    loads: dict[int, str] = {}
    for call in (node for node in ast.walk(kernel) if isinstance(node, ast.Call)):
        method = _method(call)
        if method in _MEMORY or method in _LOCK:
            arguments = {keyword.arg: keyword.value for keyword in call.keywords}
            pointer = call.args[0] if call.args else arguments.get("pointer")
            if pointer is None:
                continue
            for other in _bases(pointer, assigned, parameters):
                pointers.setdefault(other, None)
            if base := _base(pointer, assigned, parameters):
                loads[id(call)] = base
                if method in _LOCK:
                    pointers[base] = "*i32"
                elif method in ("atomic_add", "atomic_max", "atomic_min") and pointers[base] is None:
                    pointers[base] = "*fp32"
            mask = arguments.get("mask") or (call.args[1] if method == "load" and len(call.args) > 1 else None)
            indices.update(_names(pointer), _names(mask) if mask is not None else ())
        elif method in _INTEGER_CALLS:
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
                indices.update(_names(argument))
    pending = list(indices)
    while pending:
        for value in assigned.get(pending.pop(), ()):
            new = set(_names(value)) - indices
            indices |= new
            pending.extend(new)
            for part in ast.walk(value):
                if id(part) in loads and pointers[loads[id(part)]] is None:
                    pointers[loads[id(part)]] = "*i64"
    operands = {
        child.id
        for node in ast.walk(kernel)
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call | ast.Compare | ast.Attribute)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.Name)
    }
    # A pointer is used in addresses, and is no index for that.
    return _Uses(pointers, indices - set(pointers), operands)


def _literal(node: ast.expr, scope: ast.AST, module: ast.AST) -> tuple[bool, Any]:
    """(known, value) of a launch argument: a literal, or a name bound once to a literal."""
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError):
        pass
    if isinstance(node, ast.Name):
        for place in (scope, module):
            values = [
                statement.value
                for statement in ast.walk(place)
                if isinstance(statement, ast.Assign)
                and any(isinstance(target, ast.Name) and target.id == node.id for target in statement.targets)
            ]
            literal = len(values) == 1 and isinstance(values[0], ast.Constant | ast.UnaryOp)
            # `x = None` is what a branch left unset, not what the launch passes.
            if literal and not (isinstance(values[0], ast.Constant) and values[0].value is None):
                return _literal(values[0], scope, module)
    is_last_stride = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "stride"
    if is_last_stride and isinstance(node, ast.Call) and [ast.unparse(arg) for arg in node.args] == ["-1"]:
        return True, 1
    return False, None


def _launch(kernel: KernelSource, module: ast.AST) -> tuple[dict[str, Any], int | None]:
    """(values the file's first launch gives, its num_warps)."""
    if not kernel.launches:
        return {}, None
    call, scope = kernel.launches[0]
    names = [parameter.arg for parameter in kernel.parameters]
    given = list(zip(names, call.args, strict=False))
    stars = next((i for i, argument in enumerate(call.args) if isinstance(argument, ast.Starred)), len(call.args))
    pairs = [*given[:stars], *((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)]
    values: dict[str, Any] = {}
    for name, node in pairs:
        known, value = _literal(node, scope, module)
        if known:
            values[name] = value
    warps = values.pop("num_warps", None)
    return {name: value for name, value in values.items() if name in names}, warps if isinstance(warps, int) else None


_TUPLE_METHODS = frozenset({"stride", "size"})
_SIDE_OF_TUPLES = 64
_USUAL_RANK = 4


def _given(kernel: KernelSource, name: str) -> ast.expr | None:
    """What the file's first launch passes for a parameter, through a name that is bound once; None: nothing."""
    if not kernel.launches:
        return None
    call, scope = kernel.launches[0]
    names = [parameter.arg for parameter in kernel.parameters]
    pairs = [*zip(names, call.args, strict=False), *((keyword.arg, keyword.value) for keyword in call.keywords)]
    value = next((value for known, value in pairs if known == name), None)
    if isinstance(value, ast.Name):
        values = [
            statement.value
            for statement in ast.walk(scope)
            if isinstance(statement, ast.Assign) and any(_is_name(target, value.id) for target in statement.targets)
        ]
        return values[0] if len(values) == 1 else None
    return value


def _gives_a_tuple(node: ast.expr | None) -> bool:
    """`x.stride()`, `x.size()`, `x.shape` or a tuple that is spelled out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not (node.args or node.keywords):
        return node.func.attr in _TUPLE_METHODS
    return isinstance(node, ast.Tuple) or (isinstance(node, ast.Attribute) and node.attr == "shape")


def _tuple_of(kernel: KernelSource, name: str, functions: Mapping[str, ast.FunctionDef]) -> tuple[int, ...] | None:
    """The strides of a tensor that has as many dimensions as the kernel takes for a tuple parameter; None: no tuple.

    A tuple is what the launch gives one for, what the kernel takes the length of, and what it hands to a function
    beside a tuple: their lengths are one, as those of indices and strides are.
    """
    node = _given(kernel, name)
    lengths = [len(node.elts)] if isinstance(node, ast.Tuple) else []
    found, used = _lengths_in(kernel.node, name, functions)
    if not (found or _gives_a_tuple(node)):
        return None
    return tuple(_SIDE_OF_TUPLES**power for power in reversed(range(max([*lengths, *used], default=_USUAL_RANK))))


def _lengths_in(
    function: ast.FunctionDef, name: str, functions: Mapping[str, ast.FunctionDef]
) -> tuple[bool, list[int]]:
    """(whether a function uses a parameter as a tuple, the lengths that its uses need), in what it calls too."""
    found, lengths = False, []
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and _is_name(node.value, name) and isinstance(node.slice, ast.Constant):
            lengths += [node.slice.value + 1] if isinstance(node.slice.value, int) else []
        if not isinstance(node, ast.Call) or not any(_is_name(argument, name) for argument in node.args):
            continue
        beside = [len(argument.elts) for argument in node.args if isinstance(argument, ast.Tuple)]
        lengths += beside
        found = found or bool(beside) or dotted(node.func) == "len"
        helper = functions.get(dotted(node.func))
        if helper is not None and helper is not function:
            others = {other: one for other, one in functions.items() if one is not helper}
            inner = [one.arg for one in (*helper.args.posonlyargs, *helper.args.args)]
            for parameter, argument in zip(inner, node.args, strict=False):
                if _is_name(argument, name):
                    nested, more = _lengths_in(helper, parameter, others)
                    found, lengths = found or nested, lengths + more
    return found, lengths


def _is_constexpr(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)


def _compared_with(kernel: ast.FunctionDef, name: str, module: ast.AST) -> Any:
    """The first constant a parameter is compared with, spelled out or by a name of the file; or None."""
    for node in ast.walk(kernel):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if not any(isinstance(side, ast.Name) and side.id == name for side in sides):
            continue
        for side in sides:
            for item in side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]:
                value = _constant(item, module)
                value = value[0] if isinstance(value, tuple | list) and value else value
                if value is not None:
                    return value
    return None


def _constant(node: ast.expr, module: ast.AST) -> Any:
    """The value of a literal, or of a name that the file binds once, to a literal or a ``tl.constexpr`` of one."""
    if isinstance(node, ast.Name):
        values = [
            statement.value
            for statement in getattr(module, "body", ())
            if (isinstance(statement, ast.Assign) and any(_is_name(target, node.id) for target in statement.targets))
            or (isinstance(statement, ast.AnnAssign) and _is_name(statement.target, node.id))
        ]
        value = values[0] if len(values) == 1 else None
        return None if value is None or isinstance(value, ast.Name) else _constant(value, module)
    if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "constexpr" and len(node.args) == 1:
        node = node.args[0]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _fallback(kernel: ast.FunctionDef, name: str, module: ast.AST) -> Any:
    """A value for a constexpr that nothing gives, from its name and its use."""
    upper = name.upper()
    compared = _compared_with(kernel, name, module)
    if compared is not None:
        return compared
    if "DTYPE" in upper or upper.endswith("_TYPE"):
        return _Dtype(DTYPE_OF_ACCUMULATORS)
    if re.search(r"STAGE", upper):
        return 2
    if re.search(r"WARP|GROUP", upper):
        return 4
    tests = (node.test for node in ast.walk(kernel) if isinstance(node, ast.If | ast.IfExp | ast.While))
    if re.match(r"(HAS|IS|USE|ENABLE|DO|WITH|APPLY|RETURN|STORE)_", upper) or any(
        isinstance(test, ast.Name) and test.id == name for test in tests
    ):
        return True
    flat = not any(isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) for node in ast.walk(kernel))
    if re.fullmatch(r".*(BLOCK|TILE|CHUNK|WIDTH|SIZE|COLS|DIM|LEN|FEATURES).*|N", upper):
        return 1024 if flat else 64
    return 64


@dataclass(frozen=True)
class _Dtype:
    """A Triton dtype by name, looked up where Triton is imported."""

    name: str


def _type_of(parameter: str, uses: _Uses, value: Any, default: ast.expr | None) -> str:
    if parameter in uses.pointers or _POINTER_NAME.fullmatch(parameter):
        named = next((kind for pattern, kind in _POINTER_TYPES if pattern.search(parameter)), None)
        return uses.pointers.get(parameter) or named or _USUAL_POINTER
    if isinstance(value, float) or (isinstance(default, ast.Constant) and isinstance(default.value, float)):
        return "fp32"
    is_factor = parameter in uses.operands and parameter not in uses.indices
    return "fp32" if is_factor and not _INTEGER_NAME.fullmatch(parameter) else "i32"


def _guess(kernel: KernelSource, module: ast.AST, functions: Mapping[str, ast.FunctionDef]) -> Guess:
    names = frozenset(parameter.arg for parameter in kernel.parameters)
    uses = _uses(kernel.node, names, functions)
    values, warps = _launch(kernel, module)
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
        strides = _tuple_of(kernel, name, functions) if name not in values else None
        if strides is not None:
            # The compile takes tuples of compile-time values alone.
            constexprs[name] = strides
        elif _is_constexpr(parameter):
            if name in values:
                constexprs[name] = values[name]
            else:
                fallbacks[name] = _fallback(kernel.node, name, module)
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
            constexprs.setdefault(parameter.name, _live(found.fallbacks[parameter.name]))
    entry = {"fn": fn, "signature": dict(found.signature), "constexprs": constexprs}
    if found.num_warps is not None and not any(getattr(layer, "configs", None) for layer in layers):
        entry["num_warps"] = found.num_warps
    return entry


def _live(value: Any) -> Any:
    if isinstance(value, _Dtype):
        import triton.language as tl

        return getattr(tl, value.name)
    return value
