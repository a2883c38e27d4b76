"""Writing expressions: the author's own syntax, with layouts where Gluon needs them.

Everything is top-down: an expression is asked for in a layout. A cheap expression is written in that layout, an
expensive one in its own and converted where the two differ. Nodes that need no change are returned as they are, so
that their formatting survives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence

import libcst as cst

from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.terms import Permute, Root, Term, normal
from tritonport.analysis.values import Kind, Operand, Value
from tritonport.convert.function_facts import FunctionFacts
from tritonport.convert.layout_text import keeps_form
from tritonport.convert.moved_dots import MovedDots
from tritonport.convert.output import OutputFile
from tritonport.convert.syntax import join_arguments, pad, receiver, transposed
from tritonport.convert.wants import Want, operand_want, result_of, same_want, tensor_layouts
from tritonport.layouts.vectors import may_be_number
from tritonport.rules_data import load_api
from tritonport.source.kernel import Kernel
from tritonport.source.questions import question
from tritonport.source.syntax import dotted

Recipe = Callable[["ExpressionWriter", cst.Call, Sequence[Value | None], Want | None], cst.BaseExpression | None]
"""How a call of one operation is written, for its values per frame and the layouts it works in; None for a call that
stays as it is."""


class ExpressionWriter(FunctionFacts, ABC):
    """Writes the expressions of one function for one or more frames of it.

    Attributes:
        module: the file that the function goes into.
        recipes: the operations that are written differently in Gluon, by their short names.
        moved: the dots that are written where something is added to them.
    """

    def __init__(self, module: OutputFile, frames: list[Frame], recipes: Mapping[str, Recipe]) -> None:
        super().__init__(frames)
        self.module = module
        self.recipes = recipes
        self.moved = MovedDots()

    def focus(self, values: Sequence[Value | None], want: Want | None) -> Want:
        """The layouts an operation works in."""
        return tuple(
            None
            if value is None
            else (value.focus if value.focus is not None else self.default_term(index, value, want))
            for index, value in enumerate(values)
        )

    @abstractmethod
    def default_term(self, index: int, value: Value, want: Want | None) -> Term:
        """The layout of a cheap value: the wanted one, else some layout of the kernel that fits its shape."""

    @abstractmethod
    def layout_text(self, want: Want) -> str:
        """A layout as the function names it."""

    @abstractmethod
    def reference(self, node: cst.Name, definitions: list[Definition | None], want: Want | None) -> cst.BaseExpression:
        """A variable, or the copy of it in the layout that is wanted."""

    @abstractmethod
    def staged_operand(
        self, node: cst.BaseExpression, index: int, focus: Want, precision: str = ""
    ) -> cst.BaseExpression | None:
        """An operand of a dot that was put in shared memory further up; None for one in registers."""

    @abstractmethod
    def added_dot(
        self,
        values: Sequence[Value | None],
        left: cst.BaseExpression,
        right: cst.BaseExpression,
        focus: Want | None,
    ) -> cst.BaseExpression | None:
        """`acc + tl.dot(a, b)`, whichever side the dot is, as one dot; None where the addition is something else."""

    @abstractmethod
    def helper_call(self, node: cst.Call, want: Want | None) -> cst.BaseExpression:
        """A call of another function of the kernel."""

    # -- entry

    def emit(self, node: cst.BaseExpression, want: Want | None = None) -> cst.BaseExpression:
        """The node for the output, in the layout that is wanted (None: whatever it has)."""
        value = self.first(node)
        if value is None:
            return self.module.renamed(node)
        if isinstance(node, cst.Name):
            return self._name(node, want)
        if value.op == "permute" and value.shared is not None:
            assert value.operands[0].node is not None
            return transposed(self.emit(value.operands[0].node))
        if want is not None and self.is_widened(node) and not same_want(tensor_layouts(self.values(node)), want):
            # Fewer bytes move between threads before the conversion than after it.
            return self._in_layout(node, want)
        if isinstance(node, cst.Attribute):
            return self._attribute(node, want)
        if isinstance(node, cst.Call):
            return self._call(node, want)
        if isinstance(node, (cst.Tuple, cst.List)):
            return self._tuple(node, want)
        values = self.values(node)
        focus = self.focus(values, want) if _has_layout(value) else None
        written = self._operator(node, values, focus)
        if focus is None:
            return written
        return self.coerce(written, result_of(values, focus), want, values)

    def _operator(self, node: cst.BaseExpression, values: list[Value | None], focus: Want | None) -> cst.BaseExpression:
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, cst.Add):
                combined = self.added_dot(values, node.left, node.right, focus)
                if combined is not None:
                    return combined
            return node.with_changes(
                left=self.operand(node.left, values, focus), right=self.operand(node.right, values, focus)
            )
        if isinstance(node, cst.UnaryOperation):
            return node.with_changes(expression=self.operand(node.expression, values, focus))
        if isinstance(node, cst.Comparison):
            target = node.comparisons[0]
            return node.with_changes(
                left=self.operand(node.left, values, focus),
                comparisons=[target.with_changes(comparator=self.operand(target.comparator, values, focus))],
            )
        if isinstance(node, cst.BooleanOperation):
            return node.with_changes(
                left=self.operand(node.left, values, focus), right=self.operand(node.right, values, focus)
            )
        if isinstance(node, cst.IfExp):
            return node.with_changes(
                test=self.emit(node.test),
                body=self.operand(node.body, values, focus),
                orelse=self.operand(node.orelse, values, focus),
            )
        if isinstance(node, cst.Subscript):
            return self._subscript(node, values, focus)
        if isinstance(node, cst.FormattedString):
            return self.module.renamed(node)
        return node

    def operand(
        self, node: cst.BaseExpression, values: Sequence[Value | None], focus: Want | None
    ) -> cst.BaseExpression:
        """An operand of an operation, padded to the operation's rank: Gluon does not add dimensions by itself."""
        operands = [_operand_of(value, node) for value in values]
        known = next((operand for operand in operands if operand is not None), None)
        if focus is None or known is None or not known.value.is_tensor:
            return self.emit(node)
        written = self.emit(node, operand_want(operands, focus))
        consumer = next(value for value in values if value is not None)
        if consumer.op == "expand" or not known.path:
            return written
        return pad(written, len(known.path), known.value.rank)

    # -- names

    def _name(self, node: cst.Name, want: Want | None) -> cst.BaseExpression:
        if node in self.moved.calls:
            return self.emit(self.moved.calls[node], want)
        definitions = [frame.reads.get(node) for frame in self.frames]
        if any(definition is not None for definition in definitions):
            return self.reference(node, definitions, want)
        return self.module.language_name(node)

    def _attribute(self, node: cst.Attribute, want: Want | None) -> cst.BaseExpression:
        if dotted(node) is not None and self.is_global(node):
            return self.module.language_name(node)
        promoted = self.promoted(node)
        if promoted is not None:
            return node.with_changes(value=self.emit(promoted))
        values = self.values(node)
        if any(value is not None and value.op == "permute" and value.node is node for value in values):
            focus = self.focus(values, want)
            written = node.with_changes(value=receiver(self.loose(node.value, values, focus)))
            return self._finished(written, values, focus, want)
        return node.with_changes(value=self.emit(node.value))

    def answered(self, node: cst.Call, callee: Kernel) -> cst.BaseExpression | None:
        """`x.dtype.is_floating()` for a helper that only asks this: as the result of a call it is no constant."""
        asked = question(callee)
        if asked is None or len(node.args) != 1:
            return None
        given = [value for value in self.values(node.args[0].value) if value is not None]
        if any(value.kind not in (Kind.TENSOR, Kind.SCALAR) for value in given):
            return None
        dtype = cst.Attribute(receiver(self.emit(node.args[0].value)), cst.Name("dtype"))
        return cst.Call(cst.Attribute(dtype, cst.Name(asked)), [])

    # -- calls

    def _call(self, node: cst.Call, want: Want | None) -> cst.BaseExpression:
        if any(node in frame.calls for frame in self.frames):
            return self.helper_call(node, want)
        values = self.values(node)
        value = next(found for found in values if found is not None)
        holder = values
        if value.kind is Kind.TUPLE:
            holder = [
                found.items[0].operands[0].value
                if found is not None and found.items and found.items[0].operands
                else found
                for found in values
            ]
            value = next(found for found in holder if found is not None)
        focus = self.focus(holder, want) if _has_layout(value) else None
        recipe = next((self.recipes.get(name) for name in self.operations(node)), None)
        written = recipe(self, node, holder, focus) if recipe is not None else None
        if written is not None:
            return self._finished(written, holder, focus, want)
        return self._finished(self.call(node, holder, focus), holder, focus, want)

    def _finished(
        self, written: cst.BaseExpression, values: list[Value | None], focus: Want | None, want: Want | None
    ) -> cst.BaseExpression:
        if focus is None or not any(value is not None and value.is_tensor and value.op != "store" for value in values):
            return written
        have = result_of(values, focus)
        places = zip(values, have, want, strict=True) if want is not None else ()
        if want is not None and any(asked is not None and is_loose(value, term) for value, term, asked in places):
            # The compiler's own name for the layout is another one.
            return self.module.gl_call("convert_layout", [written, cst.parse_expression(self.layout_text(want))])
        return self.coerce(written, have, want, values)

    def loose(self, node: cst.BaseExpression, values: Sequence[Value | None], focus: Want | None) -> cst.BaseExpression:
        """An operand that need not be in the layout the operation wants by name, as long as it is where that has it."""
        operands = [_operand_of(value, node) for value in values]
        if focus is not None and isinstance(node, (cst.Call, cst.Attribute)):
            want = operand_want(operands, focus)
            have = tuple(
                operand.value.term if operand is not None and operand.value.focus is not None else None
                for operand in operands
            )
            if any(
                is_loose(operand.value, term)
                for operand, term in zip(operands, have, strict=True)
                if operand is not None and term is not None
            ) and same_want(have, want):
                return self.emit(node)
        return self.operand(node, values, focus)

    def call(
        self,
        node: cst.Call,
        values: Sequence[Value | None],
        focus: Want | None,
        function: cst.BaseExpression | None = None,
        extra: Sequence[cst.Arg] = (),
        loosely: bool = False,
    ) -> cst.Call:
        """The same call under its Gluon name, operands in place, with `extra` arguments at the end.

        loosely: the operation takes its operands under any name of their layout.
        """
        operand = self.loose if loosely else self.operand
        if function is None:
            if isinstance(node.func, cst.Attribute) and not self.is_global(node.func):
                function = node.func.with_changes(value=receiver(operand(node.func.value, values, focus)))
            else:
                function = self.module.language_name(node.func)
        arguments = [
            argument.with_changes(
                value=operand(argument.value, values, focus)
                if loosely
                else self.argument(argument.value, values, focus)
            )
            for argument in node.args
        ]
        return node.with_changes(func=function, args=join_arguments(arguments, extra))

    def argument(
        self, node: cst.BaseExpression, values: Sequence[Value | None], focus: Want | None
    ) -> cst.BaseExpression:
        """An argument: an operand, or a spelled-out tuple of operands."""
        if isinstance(node, (cst.Tuple, cst.List)) and focus is not None:
            inside = {id(operand.node) for value in values if value is not None for operand in value.operands}
            if any(id(element.value) in inside for element in node.elements):
                elements = [
                    element.with_changes(value=self.operand(element.value, values, focus)) for element in node.elements
                ]
                return node.with_changes(elements=elements)
        return self.operand(node, values, focus)

    def function_for(self, name: str) -> cst.BaseExpression:
        """The Gluon function of an operation, as an expression."""
        self.module.entries_used.add(f"tl.{name}")
        target = load_api()[f"tl.{name}"].target(self.module.triton) or f"gl.{name}"
        return cst.parse_expression(self.module.local_name(target))

    def _in_layout(self, node: cst.BaseExpression, want: Want) -> cst.BaseExpression:
        """An elementwise operation on one tile, carried out in the layout that is wanted."""
        values = self.values(node)
        if not isinstance(node, cst.Call):
            return self._operator(node, values, want)
        recipe = self.recipes.get(self.operation_name(node))
        written = recipe(self, node, values, want) if recipe is not None else None
        return written if written is not None else self.call(node, values, want)

    # -- the rest

    def _tuple(self, node: cst.Tuple | cst.List, want: Want | None) -> cst.BaseExpression:
        elements = [element.with_changes(value=self.emit(element.value)) for element in node.elements]
        return node.with_changes(elements=elements)

    def _subscript(self, node: cst.Subscript, values: list[Value | None], focus: Want | None) -> cst.BaseExpression:
        if focus is not None and any(value is not None and value.op == "splat" for value in values):
            return self._spread(node, focus)
        base = self.operand(node.value, values, focus) if focus is not None else self.emit(node.value)
        slices = [
            element.with_changes(slice=element.slice.with_changes(value=self.emit(element.slice.value)))
            if isinstance(element.slice, cst.Index)
            else element
            for element in node.slice
        ]
        return node.with_changes(value=receiver(base), slice=slices)

    def _spread(self, node: cst.Subscript, focus: Want) -> cst.BaseExpression:
        """`x[None]` of a scalar."""
        shape = cst.parse_expression(f"[{', '.join(['1'] * len(node.slice))}]")
        layout = cst.parse_expression(self.layout_text(focus))
        value = self.emit(node.value)
        if isinstance(value, cst.BinaryOperation):
            value = value.with_changes(lpar=[], rpar=[])
        return self.module.snippet_call("spread", [cst.Arg(value), cst.Arg(shape), cst.Arg(layout)])

    # -- layouts

    def coerce(
        self, node: cst.BaseExpression, have: Want, want: Want | None, values: Iterable[Value | None] = ()
    ) -> cst.BaseExpression:
        """Convert to the layout that is wanted, where it is not the one the value has; `values`: what that may be."""
        if want is None or same_want(have, want):
            return node
        node = (
            node.with_changes(lpar=[], rpar=[]) if hasattr(node, "lpar") and not isinstance(node, cst.Tuple) else node
        )
        return self.converted(node, want, values)

    def converted(self, node: cst.BaseExpression, want: Want, values: Iterable[Value | None]) -> cst.BaseExpression:
        """A tile in another layout. Where a flag decides whether it is a number, it may have none."""
        layout = cst.parse_expression(self.layout_text(want))
        if any(value is not None and may_be_number(value, computed=True) for value in values):
            return self.module.snippet_call("in_layout", [cst.Arg(node), cst.Arg(layout)])
        return self.module.gl_call("convert_layout", [node, layout])


def is_loose(value: Value | None, term: Term | None) -> bool:
    """Whether the compiler gives an operation's result the same layout under a name of its own."""
    if value is None or term is None:
        return False
    term = normal(term)
    if isinstance(term, Root):
        # What is permuted back to the layout of a dot has it as a linear layout.
        return value.op in ("reshape", "join") or (value.op == "permute" and term.dot is not None)
    return value.op in ("reshape", "join") or (
        value.op == "permute" and isinstance(term, Permute) and not keeps_form(term)
    )


def _has_layout(value: Value) -> bool:
    return value.is_tensor or value.focus is not None


def _operand_of(value: Value | None, node: cst.BaseExpression) -> Operand | None:
    if value is None:
        return None
    return next((operand for operand in value.operands if operand.node is node), None)
