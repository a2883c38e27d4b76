"""Calls in a kernel: which function a call means, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

import tritonport.analysis.dots
import tritonport.analysis.rearrangements
import tritonport.analysis.scaled_dots  # noqa: F401  registers the operations
from tritonport.analysis import dims, strides
from tritonport.analysis.descriptors import Descriptors, call_method, is_descriptor
from tritonport.analysis.frame import Environment, Frame
from tritonport.analysis.globals import Globals, language_entry
from tritonport.analysis.operations import OPERATIONS, Call
from tritonport.analysis.shapes import broadcast, padding
from tritonport.analysis.signatures import bind
from tritonport.analysis.values import MISSING, Kind, Operand, Refusal, Value, constant, dtype, none, opaque, scalar
from tritonport.rules_data import ApiEntry, find_api
from tritonport.source.module import Kernel, SourceModule, dotted

if TYPE_CHECKING:
    from tritonport.analysis.expressions import Expressions

LANGUAGE = ("triton.language.", "triton.experimental.gluon.language.")
CONSTEXPR_FUNCTIONS = (
    "triton.next_power_of_2",
    "triton.cdiv",
    "triton.language.constexpr",
    "triton.language.core.constexpr",
    "triton.language.standard._log2",
)


def libdevice_name(qualified: str) -> str | None:
    """`tanh` for `triton.language.extra.libdevice.tanh` under each of its import paths."""
    head, _, name = qualified.rpartition(".")
    if head.startswith("triton.language") and head.split(".")[-1] == "libdevice":
        return name
    return None


class Calls(Globals):
    """The part of the interpreter that reads calls."""

    module: SourceModule
    frame: Frame
    environment: Environment
    depth: int

    def __init__(self, module: SourceModule) -> None:
        self.root = self.module = module
        self.foreign = {}
        self.environment = {}
        self.integers: set[str] = set()
        self.descriptors = Descriptors()

    def not_a_pointer(self, value: Value) -> None:
        """Arguments that are multiplied or compared are numbers, so an address that adds them starts elsewhere."""
        if value.kind is Kind.SCALAR and len(value.pointers) == 1:
            self.integers.add(value.pointers[0])

    # -- what a qualified name is

    def qualified_value(self, names: list[str], node: cst.BaseExpression) -> Value:
        for name in names:
            if libdevice_name(name):
                return Value(Kind.FUNCTION, function=name)
            if name.startswith(("triton.language.", "triton.experimental.gluon.language.")):
                return self._language_value(name, node)
        for name in names:
            if name in CONSTEXPR_FUNCTIONS or name in ("triton.next_power_of_2", "triton.cdiv"):
                return Value(Kind.FUNCTION, function=name)
            if name.startswith("triton."):
                return Value(Kind.OBJECT, function=name)
        return Value(Kind.OBJECT, function=names[0])

    def _language_value(self, name: str, node: cst.BaseExpression) -> Value:
        entry = language_entry(name)
        if entry is None:
            if name.count(".") > 2 and (
                name.split(".")[2] in ("extra", "math", "target_info", "PropagateNan", "random", "core", "standard")
            ):
                return Value(Kind.FUNCTION, function=name)
            owner = language_entry(name.rpartition(".")[0])
            if owner is not None:
                return opaque()
            raise Refusal("TP101", f"{self._code(node)} is not in the table of API names", node)
        if entry.kind == "constant":
            return dtype(f"gl.{entry.short}", (f"gl.{entry.short}",))
        if entry.kind == "module":
            return Value(Kind.OBJECT, function=name)
        return Value(Kind.FUNCTION, function=name)

    def _code(self, node: cst.CSTNode) -> str:
        return self.module.tree.code_for_node(node)

    # -- loops

    def iterator_kind(self, node: cst.Call) -> str | None:
        """ "range" or "static_range" for the iterators a kernel may loop over."""
        value = self.evaluate(node.func)
        if value.kind is Kind.FUNCTION and isinstance(value.function, str):
            last = value.function.rpartition(".")[2]
            if last in ("range", "static_range"):
                return last
        return None

    # -- calls

    def call(self, node: cst.Call) -> Value:
        if isinstance(node.func, cst.Attribute):
            method = self._method(node, node.func)
            if method is not None:
                return method
        function = self.evaluate(node.func)
        if function.kind is Kind.FUNCTION and function.items:
            return self._several(function, node)
        return self._call(function, node)

    def _several(self, function: Value, node: cst.Call) -> Value:
        """A call of a function that an `if` or a `try` defines twice, read under each; they have to agree."""
        self.frame.variants[node] = []
        choices = [Value(Kind.FUNCTION, function=function.function), *function.items]
        choices.sort(key=lambda choice: not isinstance(choice.function, Kernel))
        first, *others = [
            self._helper(choice.function, node, variant=index > 0)
            if isinstance(choice.function, Kernel)
            else self._call(choice, node)
            for index, choice in enumerate(choices)
        ]
        for other in others:
            if not same_kind(first, other):
                raise Refusal(
                    "TP102", f"the definitions of {self._code(node.func)} give back different kinds of values", node
                )
            tie(first, other)
        return first

    def _call(self, function: Value, node: cst.Call) -> Value:
        if isinstance(function.function, Kernel):
            return self._helper(function.function, node)
        if function.kind is Kind.FUNCTION and isinstance(function.function, str):
            return self._named(function.function, node)
        if function.kind is Kind.OBJECT and isinstance(function.function, str):
            return self._foreign(function.function, node)
        if function.kind is Kind.DTYPE:
            # `tl.float32(x)` is a cast.
            operands = [(argument.value, self.evaluate(argument.value)) for argument in node.args]
            self.frame.operations[node] = "dtype"
            return self.map(node, "cast", operands, cheap=True)
        return self._unknown(self._code(node.func), node)

    def _method(self, node: cst.Call, attribute: cst.Attribute) -> Value | None:
        """`x.sum(axis=0)` on a local value; None where the attribute is not a method of one."""
        head: cst.BaseExpression = attribute
        while isinstance(head, cst.Attribute):
            head = head.value
        path = dotted(attribute)
        if isinstance(head, cst.Name) and head.value not in self.environment and path is not None:
            named = self.module.lookup(path) or self.module.kernel_by_path(path, self.frame.kernel)
            if named:
                return None
        base = self.evaluate(attribute.value)
        name = attribute.attr.value
        if is_descriptor(self.interpreter, base, name, node):
            return call_method(self.interpreter, node, (attribute.value, base), name)
        if base.kind not in (Kind.TENSOR, Kind.SCALAR, Kind.CONSTEXPR):
            for argument in node.args:
                self.evaluate(argument.value)
            if base.kind in (Kind.DTYPE, Kind.OBJECT):
                return Value(Kind.CONSTEXPR)
            raise Refusal("TP101", f"{self._code(node.func)} is not converted by this version", node)
        entry = find_api(f"tensor.{name}")
        if entry is None:
            if name.startswith("is_"):
                # A question about a dtype: `is_floating`, `is_int_signed`, `is_fp16`.
                return Value(Kind.CONSTEXPR)
            raise Refusal("TP101", f"the method .{name} has no counterpart in Gluon", node)
        if entry.name.startswith("tensor."):
            if entry.status == "none":
                raise Refusal("TP101", f"the method .{name} has no counterpart in Gluon", node)
            operands = [(attribute.value, base)] + [(arg.value, self.evaluate(arg.value)) for arg in node.args]
            if any(value.is_tensor for _, value in operands):
                return self.interpreter.elementwise("logical", node, operands, cheap=True)
            return scalar()
        return self.operation(entry, node, attribute.value)

    @property
    def interpreter(self) -> Expressions:
        return self  # type: ignore[return-value]

    def evaluate(self, node: cst.BaseExpression) -> Value:
        raise NotImplementedError

    def operation(self, entry: ApiEntry, node: cst.Call, receiver: cst.BaseExpression | None) -> Value:
        """A call of a `triton.language` operation, as a function or as a method."""
        if entry.status in ("next", "none"):
            raise Refusal("TP101", f"{self._code(node.func)} is not converted by this version", node)
        bound, rest = bind(entry.name, node.args, receiver, node)
        values = {name: (expression, self.evaluate(expression)) for name, expression in bound.items()}
        others = [(expression, self.evaluate(expression)) for expression in rest]
        handler = OPERATIONS.get(entry.short)
        self.frame.operations[node] = entry.short
        call = Call(node, entry, values, others)
        if handler is not None:
            return handler(self.interpreter, call)
        if entry.elementwise:
            return self.map(node, entry.short, [*values.values(), *others])
        raise Refusal("TP101", f"{self._code(node.func)} is not converted by this version", node)

    def map(
        self, node: cst.CSTNode, op: str, operands: list[tuple[cst.BaseExpression, Value]], cheap: bool = False
    ) -> Value:
        """An elementwise operation: a tensor where any operand is one."""
        kept = [
            (expression, value)
            for expression, value in operands
            if value.kind in (Kind.TENSOR, Kind.SCALAR, Kind.CONSTEXPR)
        ]
        if any(value.is_tensor for _, value in kept):
            return self.interpreter.elementwise(op, node, kept, cheap=cheap)
        return scalar()

    def _named(self, name: str, node: cst.Call) -> Value:
        if name.startswith("builtins."):
            return self._builtin(name.removeprefix("builtins."), node)
        if name.startswith("closure."):
            return self._captured_call(node)
        if name.startswith("constexpr."):
            return self._constexpr_function(name, node)
        if name.startswith("module."):
            return self._unknown(self._code(node.func), node)
        if libdevice_name(name):
            operands = [(argument.value, self.evaluate(argument.value)) for argument in node.args]
            self.frame.operations[node] = "libdevice"
            return self.map(node, "libdevice", operands)
        if name in CONSTEXPR_FUNCTIONS:
            return self._constexpr_function(name, node)
        entry = language_entry(name)
        if entry is None:
            if name.startswith("triton.language.extra.cuda."):
                for argument in node.args:
                    self.evaluate(argument.value)
                return scalar()
            raise Refusal("TP101", f"{self._code(node.func)} is not converted by this version", node)
        if entry.name == "tl.constexpr":
            return self._constexpr_function(name, node)
        return self.operation(entry, node, None)

    def _constexpr_function(self, name: str, node: cst.Call) -> Value:
        values = [self.evaluate(argument.value) for argument in node.args]
        if name.endswith(".constexpr") and len(values) == 1:
            return values[0]
        if any(value.kind is not Kind.CONSTEXPR for value in values):
            return scalar()
        text = f"{self._code(node.func)}({', '.join(v.dim.text if v.dim is not None else '?' for v in values)})"
        if any(value.dim is None for value in values):
            return Value(Kind.CONSTEXPR)
        key = f"{name}({','.join(dims.canonical(value.dim) for value in values if value.dim is not None)})"
        return Value(Kind.CONSTEXPR, dim=dims.opaque(key, text))

    def _builtin(self, name: str, node: cst.Call) -> Value:
        operands = [(argument.value, self.evaluate(argument.value)) for argument in node.args]
        values = [value for _, value in operands]
        if name == "float" and len(values) == 1 and isinstance(values[0].known, (str, int, float)):
            try:
                return constant(float(values[0].known))
            except ValueError:
                return Value(Kind.CONSTEXPR)
        if name == "len" and values and values[0].kind is Kind.TUPLE:
            return constant(len(values[0].items), dims.number(len(values[0].items)))
        if name == "len" and values and values[0].is_tensor:
            return Value(Kind.CONSTEXPR, dim=values[0].shape[0])
        if name == "len" and values and values[0].kind in (Kind.SCALAR, Kind.CONSTEXPR):
            # A tuple argument of the kernel.
            argument = node.args[0].value
            count = self.frame.lengths.get(argument.value) if isinstance(argument, cst.Name) else None
            return Value(Kind.CONSTEXPR) if count is None else constant(count, dims.number(count))
        if name in ("isinstance", "type", "str", "bool"):
            return Value(Kind.CONSTEXPR)
        if name == "print":
            return none()
        if name in ("min", "max", "abs", "float", "int"):
            for value in values:
                self.not_a_pointer(value)
            if any(value.is_tensor for value in values):
                return self.interpreter.elementwise(name, node, operands, cheap=True)
            if values and all(value.kind is Kind.CONSTEXPR for value in values):
                return self._folded_builtin(name, node, values)
            if name == "int" and len(values) == 1:
                return values[0]
            return scalar()
        raise Refusal("TP105", f"the built-in function {name} in a kernel", node)

    def _folded_builtin(self, name: str, node: cst.Call, values: list[Value]) -> Value:
        functions: dict[str, Callable[..., int | float]] = {
            "min": min,
            "max": max,
            "abs": abs,
            "int": int,
            "float": float,
        }
        if all(isinstance(value.known, (int, float)) for value in values):
            known = functions[name](*(value.known for value in values))
            return constant(known, dims.number(known) if isinstance(known, int) else None)
        if all(value.dim is not None for value in values):
            parts = [value.dim for value in values if value.dim is not None]
            return Value(
                Kind.CONSTEXPR,
                dim=dims.opaque(
                    f"{name}({','.join(map(dims.canonical, parts))})",
                    f"{name}({', '.join(part.text for part in parts)})",
                ),
            )
        return Value(Kind.CONSTEXPR)

    def _helper(self, kernel: Kernel, node: cst.Call, variant: bool = False) -> Value:
        """A jit function of this file or of another; a `variant` is one more definition of the function called."""
        arguments: dict[str, Value] = {}
        names = [parameter.name for parameter in kernel.parameters]
        position = 0
        for argument in node.args:
            value = self.evaluate(argument.value)
            if argument.star:
                if value.kind is Kind.TUPLE and argument.star == "*":
                    for item in value.items:
                        arguments[names[position]] = item
                        position += 1
                    continue
                raise Refusal("TP105", f"{argument.star}{self._code(argument.value)} in a call", argument)
            if argument.keyword is not None:
                arguments[argument.keyword.value] = value
            elif position < len(names):
                arguments[names[position]] = value
                position += 1
            else:
                raise Refusal("TP105", f"too many arguments for {kernel.name}", node)
        return self.inline(kernel, node, arguments, variant)

    def inline(self, kernel: Kernel, call: cst.Call, arguments: dict[str, Value], variant: bool = False) -> Value:
        raise NotImplementedError

    def _captured_call(self, node: cst.Call) -> Value:
        """A function passed into the factory that makes the kernel: taken to compute on its arguments, element by
        element.

        Gluon checks that when the kernel compiles: a function that makes tensors of its own has no layout for them.
        """
        operands = [(argument.value, self.evaluate(argument.value)) for argument in node.args]
        tensors = [value for _, value in operands if value.is_tensor]
        if not tensors:
            return scalar()
        joined = broadcast([value.shape for value in tensors])
        return Value(
            Kind.TENSOR,
            shape=joined,
            op="captured",
            operands=[
                Operand(expression, value, padding(value.rank, len(joined)) if value.is_tensor else ())
                for expression, value in operands
            ],
            depth=self.depth,
            node=node,
        )

    def _foreign(self, name: str, node: cst.Call) -> Value:
        if name.startswith(("triton.language", "triton.")):
            raise Refusal("TP101", f"{self._code(node.func)} is not converted by this version", node)
        raise Refusal(
            "TP102",
            f"{self._code(node.func)} comes from another file ({name})",
            node,
            "Read it where that file is, in its package, or put the helper into this file; it must be a jit function.",
        )

    def _unknown(self, text: str, node: cst.Call) -> Value:
        raise Refusal("TP102", f"{text} is not a function tritonport can read", node)


def same_kind(left: Value, right: Value) -> bool:
    """Whether two values can stand for each other in the text: kind, rank and, for tuples, items."""
    if left.kind is Kind.TUPLE and right.kind is Kind.TUPLE:
        pairs = zip(left.items, right.items, strict=False)
        return len(left.items) == len(right.items) and all(same_kind(a, b) for a, b in pairs)
    numbers = (Kind.SCALAR, Kind.CONSTEXPR)
    return (left.kind is right.kind and left.rank == right.rank) or (left.kind in numbers and right.kind in numbers)


def tie(left: Value, right: Value) -> None:
    """Two results of one call have one layout."""
    for first, second in zip(left.items, right.items, strict=False):
        tie(first, second)
    if left.is_tensor and right.is_tensor and left.op == "call":
        left.operands.append(Operand(None, right))


__all__ = ["MISSING", "Calls", "language_entry", "libdevice_name", "strides"]
