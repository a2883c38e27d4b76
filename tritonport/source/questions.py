"""Helpers that only ask for a dtype: `is_floating(x)`, by way of `promote(x)`, which makes a number a tensor.

What they answer is known when the kernel is compiled, but a function hands it back as a value at run time.
"""

from __future__ import annotations

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted, only_returned


def is_promotion(kernel: Kernel) -> bool:
    """Whether a helper adds a tensor of one false element to its argument, which changes neither value nor type."""
    value = _only_result(kernel)
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Add):
        return False
    named = isinstance(value.left, cst.Name) and value.left.value == kernel.parameters[0].name
    return named and _is_false_element(value.right, kernel)


def question(kernel: Kernel) -> str | None:
    """`is_floating` for a helper that is `return x.dtype.is_floating()`, or asks the same of `promote(x)`."""
    value = _only_result(kernel)
    if not isinstance(value, cst.Call) or value.args or not isinstance(value.func, cst.Attribute):
        return None
    asked, dtype = value.func.attr.value, value.func.value
    if not asked.startswith("is_") or not isinstance(dtype, cst.Attribute) or dtype.attr.value != "dtype":
        return None
    holder = dtype.value
    if isinstance(holder, cst.Call) and len(holder.args) == 1:
        found = kernel.module.lookup(dotted(holder.func) or "")
        if len(found) != 1 or found[0].kernel is None or not is_promotion(found[0].kernel):
            return None
        holder = holder.args[0].value
    named = isinstance(holder, cst.Name) and holder.value == kernel.parameters[0].name
    return asked if named else None


def _only_result(kernel: Kernel) -> cst.BaseExpression | None:
    """The expression of a function of one argument that is one `return`, below a docstring."""
    body = kernel.node.body
    if len(kernel.parameters) != 1 or not isinstance(body, cst.IndentedBlock):
        return None
    return only_returned(body)


def _is_false_element(node: cst.BaseExpression, kernel: Kernel) -> bool:
    if not isinstance(node, cst.Call) or len(node.args) != 2:
        return False
    function = kernel.module.qualified_names(node.func)
    dtype = kernel.module.qualified_names(node.args[1].value)
    shape = node.args[0].value
    sizes = [element.value for element in shape.elements] if isinstance(shape, (cst.Tuple, cst.List)) else []
    one = len(sizes) == 1 and isinstance(sizes[0], cst.Integer) and sizes[0].evaluated_value == 1
    return function == ["triton.language.zeros"] and dtype == ["triton.language.int1"] and one
