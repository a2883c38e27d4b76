"""Calls in a kernel: which function a call means, and what it gives back."""

from __future__ import annotations

from abc import abstractmethod

import libcst as cst

from tritonport.analysis.builtin_calls import builtin_call, constexpr_call
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.globals import CONSTEXPR_FUNCTIONS, language_entry, libdevice_name
from tritonport.analysis.operations.descriptors import call_method
from tritonport.analysis.operations.registry import OPERATIONS, Call
from tritonport.analysis.shapes import broadcast, padding
from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Kind, Operand, Refusal, Value, scalar
from tritonport.rules_data import ApiEntry, find_api
from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted


class Calls(Evaluator):
    """The part of the interpreter that reads calls."""

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
                    "TP102", f"the definitions of {self.code(node.func)} give back different kinds of values", node
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
        return self._unknown(self.code(node.func), node)

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
        if self.descriptors.has_method(base, name, node):
            return call_method(self, node, (attribute.value, base), name)
        if base.kind not in (Kind.TENSOR, Kind.SCALAR, Kind.CONSTEXPR):
            for argument in node.args:
                self.evaluate(argument.value)
            if base.kind in (Kind.DTYPE, Kind.OBJECT):
                return Value(Kind.CONSTEXPR)
            raise Refusal("TP101", f"{self.code(node.func)} is not converted by this version", node)
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
                return self.elementwise("logical", node, operands, cheap=True)
            return scalar()
        return self.operation(entry, node, attribute.value)

    def operation(self, entry: ApiEntry, node: cst.Call, receiver: cst.BaseExpression | None) -> Value:
        """A call of a `triton.language` operation, as a function or as a method."""
        if entry.status in ("next", "none"):
            raise Refusal("TP101", f"{self.code(node.func)} is not converted by this version", node)
        bound, rest = bind(entry.name, node.args, receiver, node)
        values = {name: (expression, self.evaluate(expression)) for name, expression in bound.items()}
        others = [(expression, self.evaluate(expression)) for expression in rest]
        handler = OPERATIONS.get(entry.short)
        self.frame.operations[node] = entry.short
        call = Call(node, entry, values, others)
        if handler is not None:
            return handler(self, call)
        if entry.elementwise:
            return self.map(node, entry.short, [*values.values(), *others])
        raise Refusal("TP101", f"{self.code(node.func)} is not converted by this version", node)

    def _named(self, name: str, node: cst.Call) -> Value:
        if name.startswith("builtins."):
            return builtin_call(self, name.removeprefix("builtins."), node)
        if name.startswith("closure."):
            return self._captured_call(node)
        if name.startswith("constexpr."):
            return constexpr_call(self, name, node)
        if name.startswith("module."):
            return self._unknown(self.code(node.func), node)
        if libdevice_name(name):
            operands = [(argument.value, self.evaluate(argument.value)) for argument in node.args]
            self.frame.operations[node] = "libdevice"
            return self.map(node, "libdevice", operands)
        if name in CONSTEXPR_FUNCTIONS:
            return constexpr_call(self, name, node)
        entry = language_entry(name)
        if entry is None:
            if name.startswith("triton.language.extra.cuda."):
                for argument in node.args:
                    self.evaluate(argument.value)
                return scalar()
            raise Refusal("TP101", f"{self.code(node.func)} is not converted by this version", node)
        if entry.name == "tl.constexpr":
            return constexpr_call(self, name, node)
        return self.operation(entry, node, None)

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
                raise Refusal("TP105", f"{argument.star}{self.code(argument.value)} in a call", argument)
            if argument.keyword is not None:
                arguments[argument.keyword.value] = value
            elif position < len(names):
                arguments[names[position]] = value
                position += 1
            else:
                raise Refusal("TP105", f"too many arguments for {kernel.name}", node)
        return self.inline(kernel, node, arguments, variant)

    @abstractmethod
    def inline(self, kernel: Kernel, call: cst.Call, arguments: dict[str, Value], variant: bool = False) -> Value:
        """Read a helper for one call and return what the call gives back."""

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
            raise Refusal("TP101", f"{self.code(node.func)} is not converted by this version", node)
        raise Refusal(
            "TP102",
            f"{self.code(node.func)} comes from another file ({name})",
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


__all__ = ["Calls"]
