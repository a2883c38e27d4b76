"""Reading the calls in index arithmetic: accesses, ranges, casts, bounds, and functions that compute addresses."""

from __future__ import annotations

import ast
import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import forms
from tritonport.analysis.access.expressions import LANGUAGE, NARROW, WIDE, ExpressionReader, is_comparison
from tritonport.analysis.access.forms import Axis, Form, Mask, Opaque, Value
from tritonport.analysis.effects import asks_for_more, makes_tiles
from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted

PASS_THROUGH = frozenset({"to", "cast", "convert_layout", "multiple_of", "max_contiguous", "max_constancy"})
MEMORY = {"load": "load", "store": "store"}
_SMALL = re.compile(r"u?int(1|8|16)|b?float\w*|fp\w*")
"""The types that do not hold every index."""


class CallReader(ExpressionReader):
    """Evaluates calls too."""

    def _call(self, node: cst.Call) -> Value:
        path = dotted(node.func)
        short = node.func.attr.value if isinstance(node.func, cst.Attribute) else (path or "")
        handler: Callable[[cst.Call], Value] | None = getattr(self, f"_{short}", None) if short in _HANDLED else None
        if short.startswith("atomic_") and self._is_language(node.func):
            self.memory(node, "atomic")
            return Opaque(f"`{self.text(node)}` is the result of an atomic", node)
        if short in MEMORY and self._is_language(node.func):
            address = self.memory(node, MEMORY[short])
            if self.loose and short == "load" and isinstance(address, Form) and address.is_scalar:
                return forms.scalar(self._shortened(node))
            return self.loaded(node, Opaque(f"`{self._shortened(node)}` is read from memory", node))
        if handler is not None:
            return handler(node)
        if short == "min" and isinstance(node.func, cst.Name) and len(node.args) == 2:
            return self._minimum(node)  # Python's; that of the language is a reduction
        arguments = [self.evaluate(argument.value) for argument in node.args]
        if short in PASS_THROUGH:
            base = self._receiver(node) if short == "to" else (arguments[0] if arguments else None)
            if isinstance(base, Form) and "pointer_type" in self.text(node):
                return Opaque(f"`{self._shortened(node)}` gives a pointer another type", node)
            if isinstance(base, Form) and short in ("to", "cast") and (other := self._converted(node, base, short)):
                return other
            if isinstance(base, Opaque) and base.number is not None and short in ("to", "cast"):
                return _cast(base.number, self.text(node.args[-1].value)) or base
            if base is not None:
                layout = self.text(node.args[1].value) if short == "convert_layout" and len(node.args) > 1 else None
                return replace(base, layout=layout) if isinstance(base, Form) and layout else base
        if isinstance(node.func, cst.Attribute) and short not in ("cdiv", "program_id", "num_programs"):
            receiver = self._receiver(node)
            if isinstance(receiver, Opaque) or (isinstance(receiver, Form) and not receiver.is_scalar):
                arguments.append(receiver)
        inlined = self._followed(node, path) if path is not None else None
        if inlined is not None:
            return inlined
        if path is not None and makes_tiles(self.module, path):
            return Opaque(f"`{self._shortened(node)}` is a tile that a function makes", node)
        if path is not None and not self.loose and self._reads_more(node, path):
            return self.returned(node, Opaque(f"`{self._shortened(node)}` reads more than its arguments", node))
        return self._other(node, arguments)

    def _converted(self, node: cst.Call, base: Form, short: str) -> Value | None:
        """What a cast makes of numbers where that may be others: of a type that does not hold all of them, and of what
        is no integer; None for any other cast."""
        given = [one.value for one in node.args if one.keyword is None or one.keyword.value == "dtype"]
        place = 0 if short == "to" and isinstance(node.func, cst.Attribute) else 1
        keyword = next((one.value for one in node.args if one.keyword and one.keyword.value == "dtype"), None)
        dtype = keyword or (given[place] if place < len(given) else None)
        name = self.text(dtype).rpartition(".")[2] if dtype is not None else ""
        if _SMALL.fullmatch(name) is None and not any(map(_may_be_a_fraction, base.offset.atoms())):
            return None
        if base.is_scalar:
            return Form(dims.opaque(self._resolved(node), ""))
        return Opaque(f"`{self._shortened(node)}` is no sum of coordinates", node)

    def _reads_more(self, node: cst.Call, path: str) -> bool:
        """Whether a second call with the same arguments may give another number; of a function that is an argument
        nothing is known."""
        return path in self.parameters or asks_for_more(self.module, node)

    def _followed(self, node: cst.Call, path: str) -> Value | None:
        meanings = self.module.lookup(path)
        callee = meanings[0].kernel if len(meanings) == 1 else None
        return self.followed(node, callee) if callee is not None else None

    @abstractmethod
    def followed(self, node: cst.Call, callee: Kernel) -> Value | None:
        """The form of what a jit function returns that only adds and multiplies; None for any other call."""

    def _is_language(self, function: cst.BaseExpression) -> bool:
        """Whether a function is one of `triton.language` or of Gluon's, and no method of a descriptor or a tile."""
        names = self.module.qualified_names(function)
        return any(name.startswith(LANGUAGE) for name in names)

    def _shortened(self, node: cst.CSTNode) -> str:
        text = " ".join(self.text(node).split())
        return text if len(text) <= 60 else text[:57] + "..."

    def _receiver(self, node: cst.Call) -> Value | None:
        if not isinstance(node.func, cst.Attribute):
            return None
        if isinstance(node.func.value, cst.Name) and node.func.value.value not in self.environment:
            return None
        return self.evaluate(node.func.value)

    def _arange(self, node: cst.Call) -> Value:
        positional = [argument.value for argument in node.args if argument.keyword is None]
        keywords = {argument.keyword.value: argument.value for argument in node.args if argument.keyword is not None}
        start = positional[0] if positional else keywords.get("start")
        end = positional[1] if len(positional) > 1 else keywords.get("end")
        if start is None or end is None:
            return Opaque(f"`{self.text(node)}` has no bounds", node)
        first = self.evaluate(start)
        layout = keywords.get("layout") or (positional[2] if len(positional) > 2 else None)
        size = self._resolved(end) if isinstance(end, cst.Name) else self.text(end)
        offset = first.offset if isinstance(first, Form) else forms.ZERO
        if offset.value != 0:
            size = f"{size} - {self.text(start)}"
        return Form(
            offset,
            (Axis(size, dims.ONE),),
            (size,),
            layout=self.text(layout) if layout is not None else None,
        )

    def _tiles(self, node: cst.Call) -> Value:
        """`zeros`, `full`: a tile with one value in it."""
        shape = node.args[0].value if node.args else None
        if not isinstance(shape, (cst.Tuple, cst.List)):
            return Opaque(f"`{self._shortened(node)}` has a shape that is not spelled here", node)
        sizes = tuple(self.text(element.value) for element in shape.elements)
        keywords = {argument.keyword.value: argument.value for argument in node.args if argument.keyword is not None}
        layout = self.text(keywords["layout"]) if "layout" in keywords else None
        key = "0" if self._name_of(node) == "zeros" else self.text(node.args[1].value) if len(node.args) > 1 else "?"
        dtype = self.text(keywords["dtype"]) if "dtype" in keywords else ""
        if key in ("1", "True") and dtype.rpartition(".")[2] == "int1":
            return Mask()  # every element
        value = forms.ZERO if key == "0" else dims.opaque(f"the value {key}", "")
        return Form(value, (None,) * len(sizes), sizes, layout=layout)

    _zeros = _full = _tiles

    @staticmethod
    def _name_of(node: cst.Call) -> str:
        return node.func.attr.value if isinstance(node.func, cst.Attribute) else getattr(node.func, "value", "")

    def _minimum(self, node: cst.Call) -> Value:
        values = [self.evaluate(argument.value) for argument in node.args[:2]]
        one, other = (*values, None, None)[:2]
        if isinstance(one, Form) and isinstance(other, Form) and one.is_scalar and other.is_scalar:
            least = self._other(node, values)
            assert isinstance(least, Form)
            self.minima[least.offset] = (one, other)
            return least
        if len(values) == 2 and all(isinstance(value, Form) for value in values):
            for one, other in (values, values[::-1]):
                assert isinstance(one, Form) and isinstance(other, Form)
                if any(one.axes) and not any(other.axes):
                    return forms.bent(one, clamp=other.offset)
        return self._other(node, values)

    def _where(self, node: cst.Call) -> Value:
        """`where(x < n, x, 0)`: beyond the bound another row, as with a clamp."""
        values = [self.evaluate(argument.value) for argument in node.args[:3]]
        if len(values) == 3 and isinstance(values[0], Mask) and len(values[0].conditions) == 1:
            (condition,) = values[0].conditions
            other = values[2]
            plain = not values[0].opaque and not values[0].flags and condition.operator == "<"
            row = isinstance(other, Form) and not any(other.axes) and other.offset.value == 0
            if plain and row and condition.form == values[1] and isinstance(values[1], Form):
                return forms.bent(values[1], clamp=forms.plus(condition.bound.offset, dims.ONE, -1))
        if values and isinstance(values[0], Mask) and is_comparison(values[0]):
            return self._other(node, values[1:])
        return self._other(node, values)

    def _expand_dims(self, node: cst.Call) -> Value:
        base = self.evaluate(node.args[0].value)
        axis = self.evaluate(node.args[1].value) if len(node.args) > 1 else None
        if not isinstance(base, Form) or not isinstance(axis, Form) or axis.offset.value is None:
            return base if isinstance(base, Opaque) else Opaque(f"`{self.text(node)}` is no sum of coordinates", node)
        place = axis.offset.value % (base.rank + 1)
        return self._expanded(node, base, [index == place for index in range(base.rank + 1)])


def _may_be_a_fraction(atom: str) -> bool:
    """Whether a number is a quotient or a literal with a point, or is made of one."""
    try:
        nodes = list(ast.walk(ast.parse(atom, mode="eval")))
    except SyntaxError:
        return False
    return any(isinstance(one, ast.Div) or isinstance(getattr(one, "value", 0), float) for one in nodes)


def _cast(number: Form, dtype: str) -> Form | None:
    """A number that is read from memory, as an integer of some type; None for any other type."""
    short = dtype.rpartition(".")[2]
    if short == "int32":
        text = forms.show(number.offset).replace(WIDE, NARROW)
        return Form(dims.opaque(text, ""))
    return number if short == "int64" else None


_HANDLED = frozenset({"arange", "zeros", "full", "minimum", "where", "expand_dims"})

__all__ = ["CallReader"]
