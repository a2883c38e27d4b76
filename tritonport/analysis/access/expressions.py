"""Reading index arithmetic into affine forms."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import forms
from tritonport.analysis.access.forms import Condition, Each, Form, Mask, Opaque, Several, Value
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import replaced, walk

Environment = dict[str, Value]
LANGUAGE = ("triton.language.", "triton.experimental.gluon.language.")
WIDE, NARROW = " read as it is", " read in 32 bits"
"""What is in the names of numbers that are read from memory: as they are there, and cast to an int32."""
_OPERATORS = {cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">", cst.GreaterThanEqual: ">="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class ExpressionReader(ABC):
    """Evaluates the expressions of one kernel in an environment of affine forms.

    loose: an operation on coordinates that gives no affine form gives what is known of its values, `Axis.parts`, and a
    number that is read from memory is one of its own name.
    """

    def __init__(self, module: SourceModule, kernel: Kernel, loose: bool = False) -> None:
        self.module = module
        self.kernel = kernel
        self.loose = loose
        self.environment: Environment = {}
        self.parameters = {parameter.name for parameter in kernel.parameters}
        self.constexprs = {parameter.name for parameter in kernel.parameters if parameter.constexpr}
        self.minima: dict[Dim, tuple[Form, Form]] = {}
        assigned = Counter([*(one.name for one in kernel.parameters), *_targets(kernel.node.body)])
        self.reassigned = {name for name, times in assigned.items() if times > 1}

    def text(self, node: cst.CSTNode) -> str:
        """The source of a node, without parentheses around it."""
        if getattr(node, "lpar", None) and not isinstance(node, cst.Tuple):
            node = node.with_changes(lpar=[], rpar=[])
        return self.module.tree.code_for_node(node).strip()

    @abstractmethod
    def _call(self, node: cst.Call) -> Value:
        """The form of what a call gives."""

    @abstractmethod
    def memory(self, node: cst.Call, kind: str) -> Value:
        """Called for each access, for its address; a reader of accesses records it."""

    def evaluate(self, node: cst.BaseExpression) -> Value:
        """The form of an expression; Opaque with a reason where it has none."""
        value = self._evaluated(node)
        if isinstance(value, Opaque) and value.node is not node and not isinstance(node, cst.Name):
            return forms.unnumbered(value)  # the number is that of the load alone, not of what is made of it
        return value

    def _evaluated(self, node: cst.BaseExpression) -> Value:
        if isinstance(node, cst.Name):
            return self._name(node)
        if isinstance(node, cst.Integer):
            return forms.number(int(node.value.replace("_", ""), 0))
        if isinstance(node, cst.BinaryOperation):
            return self._binary(node)
        if isinstance(node, cst.UnaryOperation):
            inner = self.evaluate(node.expression)
            if isinstance(node.operator, cst.Minus) and isinstance(inner, Form):
                return forms.multiply(forms.number(-1), inner)
            return self._other(node, [inner])
        if isinstance(node, cst.Comparison):
            return self._comparison(node)
        if isinstance(node, cst.BooleanOperation):
            return self._conjunction(node, self.evaluate(node.left), self.evaluate(node.right))
        if isinstance(node, cst.Subscript):
            return self._subscript(node)
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, (cst.Tuple, cst.List)):
            return Several(tuple(self.evaluate(element.value) for element in node.elements))
        if isinstance(node, cst.IfExp):
            return self._chosen(node)
        return self._other(node, [])

    def _name(self, node: cst.Name) -> Value:
        found = self.environment.get(node.value)
        # A name of the module: a compile-time value.
        return forms.scalar(node.value) if found is None else found

    def _chosen(self, node: cst.IfExp) -> Value:
        """One of two values: where both are pointers to the same argument, one to it with an offset of its own."""
        test, one, other = (self.evaluate(part) for part in (node.test, node.body, node.orelse))
        same = isinstance(one, Form) and isinstance(other, Form) and (one.head, one.axes) == (other.head, other.axes)
        if same and isinstance(one, Form) and one.head is not None:
            return replace(one, offset=forms.plus(dims.symbol(one.head), dims.opaque(self._resolved(node), "")))
        return self._other(node, [test, one, other])

    def _other(self, node: cst.BaseExpression, parts: list[Value]) -> Value:
        """A scalar of its own where no part is a tile; else nothing affine."""
        tiles = [part for part in parts if not isinstance(part, Form) or not part.is_scalar]
        items = [item for part in parts if isinstance(part, Several) for item in part.items]
        unknown = next((item for item in items if isinstance(item, Opaque)), None)
        if unknown is not None:
            return unknown
        if any(isinstance(part, (Mask, Several, Each)) for part in tiles):
            return Opaque(f"`{self.text(node)}` is no sum of coordinates", node)
        if tiles:
            first = tiles[0]
            return first if isinstance(first, Opaque) else Opaque(f"`{self.text(node)}` is no sum of coordinates", node)
        return Form(dims.opaque(self._resolved(node), ""))

    def _resolved(self, node: cst.BaseExpression) -> str:
        """The source of a number; a name that has several values in the kernel is what it stands for here."""
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        meanings: dict[str, str] = {}
        functions = {id(one.func) for one in walk(node) if isinstance(one, cst.Call)}
        for one in walk(node):
            if not isinstance(one, cst.Name) or one.value not in self.reassigned or id(one) in functions:
                continue
            value = self.environment.get(one.value)
            if isinstance(value, Form) and value.is_scalar and value.offset != dims.symbol(one.value):
                mark = f"meaning_{len(meanings)}_"
                swaps[one], meanings[mark] = cst.Name(mark), dims.grouped(forms.show(self.indexed(value.offset)))
        text = self.text(replaced(node, swaps) if swaps else node)
        return re.sub(r"\bmeaning_\d+_", lambda found: meanings.get(found[0], found[0]), text)

    def indexed(self, number: Dim) -> Dim:
        """A number without counts of iterations, where the index of a loop says the same."""
        return number

    def divided(self, number: Dim, divisor: Dim) -> Dim | None:
        """What a division gives that leaves nothing, if that is known of it."""
        return None

    def loaded(self, node: cst.Call, found: Opaque) -> Value:
        """What a load gives, of which `found` is said."""
        return found

    def returned(self, node: cst.Call, found: Opaque) -> Value:
        """What a function gives that reads more than its arguments."""
        return found

    def _binary(self, node: cst.BinaryOperation) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(node.operator, (cst.BitAnd, cst.BitOr)) and (isinstance(left, Mask) or isinstance(right, Mask)):
            return self._conjunction(node, left, right)
        if isinstance(node.operator, cst.Multiply) and isinstance(left, Mask) and isinstance(right, Mask):
            return self._conjunction(node, left, right)  # of two masks a product is true where both are
        if isinstance(left, Several) and isinstance(right, Several) and isinstance(node.operator, cst.Add):
            return Several((*left.items, *right.items))
        left, right = self._as_number(node.operator, node.left, left), self._as_number(node.operator, node.right, right)
        for side in (left, right):
            if isinstance(side, Opaque):
                return side
        if not isinstance(left, Form) or not isinstance(right, Form):
            return Opaque(f"`{self.text(node)}` is no sum of coordinates", node)
        made = self._arithmetic(node, left, right)
        if isinstance(made, Opaque) and self.loose:
            sign = {cst.Add: 1, cst.Subtract: -1}.get(type(node.operator), 0)
            return forms.uneven(left, right, sign)
        if isinstance(made, Opaque) and made.node is None:
            return Opaque(f"`{self.text(node)}` {made.reason}", node)
        return made

    def _as_number(self, operator: cst.BaseBinaryOp, node: cst.BaseExpression, value: Value) -> Value:
        """An operand that can be nothing but a number, as one: a comparison of numbers, and what is multiplied or
        divided of what is read from memory."""
        if isinstance(value, Mask) and is_comparison(value) and isinstance(operator, cst.Multiply):
            return Form(dims.opaque(f"({self._resolved(node)})", ""))
        if isinstance(value, Opaque) and isinstance(operator, (cst.Multiply, cst.FloorDivide, cst.Modulo)):
            return value.number or value
        return value

    def _arithmetic(self, node: cst.BinaryOperation, left: Form, right: Form) -> Value:
        operator = node.operator
        if isinstance(operator, cst.Add):
            return forms.add(left, right)
        if isinstance(operator, cst.Subtract):
            return forms.add(left, right, -1)
        if isinstance(operator, cst.Multiply):
            return forms.multiply(left, right)
        if isinstance(operator, cst.FloorDivide) and left.is_scalar and right.is_scalar:
            exact = self.divided(left.offset, right.offset)
            if exact is not None:
                return Form(exact)
        if not any(left.axes) and not any(right.axes):
            rank = max(left.rank, right.rank)
            key = f"({forms.show(left.offset)}) {self.text_of_operator(operator)} ({forms.show(right.offset)})"
            sizes = left.sizes if left.rank == rank else right.sizes
            return Form(dims.opaque(key, ""), (None,) * rank, sizes)
        if isinstance(operator, cst.Modulo) and not any(right.axes):
            return forms.bent(left, wrap=right.offset)
        return Opaque(f"`{self.text(node)}` is no sum of coordinates", node)

    @staticmethod
    def text_of_operator(operator: cst.BaseBinaryOp) -> str:
        """`//` for FloorDivide."""
        return cst.Module([]).code_for_node(operator).strip()

    def _comparison(self, node: cst.Comparison) -> Value:
        opaque = Mask(opaque=(self.text(node),))
        if len(node.comparisons) != 1 or type(node.comparisons[0].operator) not in _OPERATORS:
            for part in (node.left, *(target.comparator for target in node.comparisons)):
                self.evaluate(part)
            return opaque
        left, right = (
            side.number if isinstance(side, Opaque) and side.number is not None else side
            for side in (self.evaluate(node.left), self.evaluate(node.comparisons[0].comparator))
        )
        if not isinstance(left, Form) or not isinstance(right, Form):
            return opaque
        symbol = _OPERATORS[type(node.comparisons[0].operator)]
        if not any(right.axes):
            bounds = self._bounds(right) if symbol in ("<", "<=") else [right]
            return Mask(tuple(Condition(left, symbol, bound) for bound in bounds))
        if not any(left.axes):
            return Mask((Condition(right, _FLIPPED[symbol], left),))
        return opaque

    def _bounds(self, bound: Form) -> list[Form]:
        """What is below the least of two numbers is below both."""
        parts = self.minima.get(bound.offset) if bound.is_scalar else None
        return [one for part in parts for one in self._bounds(part)] if parts is not None else [bound]

    def _conjunction(self, node: cst.BaseExpression, left: Value, right: Value) -> Value:
        is_and = isinstance(getattr(node, "operator", None), (cst.BitAnd, cst.And, cst.Multiply))
        masks = [side for side in (left, right) if isinstance(side, Mask)]
        others = [side for side in (left, right) if not isinstance(side, Mask) and side != forms.TRUE]
        if not is_and:
            return Mask(opaque=(self.text(node),))
        # A flag of the whole tile bounds no coordinate and breaks no run.
        flags = all(isinstance(side, Form) and not any(side.axes) for side in others)
        opaque = tuple(text for mask in masks for text in mask.opaque)
        whole = tuple(text for mask in masks for text in mask.flags) + ((self.text(node),) if flags and others else ())
        return Mask(
            tuple(condition for mask in masks for condition in mask.conditions),
            opaque if flags else (*opaque, self.text(node)),
            whole,
        )

    def _subscript(self, node: cst.Subscript) -> Value:
        base = self.evaluate(node.value)
        pattern = []
        for element in node.slice:
            index = element.slice
            if isinstance(index, cst.Index):
                if not (isinstance(index.value, cst.Name) and index.value.value == "None"):
                    return self._item(node, base, index.value)
                pattern.append(True)
            else:
                pattern.append(False)
        return self._expanded(node, base, pattern)

    def _item(self, node: cst.Subscript, base: Value, index: cst.BaseExpression) -> Value:
        place = self.evaluate(index)
        if isinstance(base, Several) and isinstance(place, Form) and place.offset.value is not None:
            number = place.offset.value
            if place.is_scalar and -len(base.items) <= number < len(base.items):
                return base.items[number]
        counted = place.offset.value if isinstance(place, Form) and place.is_scalar else None
        if isinstance(base, Each) and counted is not None and counted >= 0:
            return base.item(counted)
        return self._other(node, [base, place])

    def _expanded(self, node: cst.BaseExpression, base: Value, pattern: list[bool]) -> Value:
        if isinstance(base, Form):
            return forms.expanded(base, pattern)
        if isinstance(base, Mask):
            conditions, opaque = [], list(base.opaque)
            for one in base.conditions:
                form = forms.expanded(one.form, pattern) if one.form.rank else one.form
                if isinstance(form, Form):
                    conditions.append(replace(one, form=form))
                else:
                    opaque.append(self.text(node))
            return Mask(tuple(conditions), tuple(opaque), base.flags)
        return base if isinstance(base, Opaque) else Opaque(f"`{self.text(node)}` is no sum of coordinates", node)


def _targets(body: cst.CSTNode) -> Iterator[str]:
    """The names that statements give a value, as often as they do."""
    for node in walk(body):
        if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign)):
            yield from (one.value for one in walk(node.target) if isinstance(one, cst.Name))


def is_comparison(mask: Mask) -> bool:
    """Whether a condition compares numbers alone, and so is one itself."""
    compared = (form for one in mask.conditions for form in (one.form, one.bound))
    return not mask.opaque and all(form.is_scalar for form in compared)


__all__ = ["NARROW", "WIDE", "Environment", "ExpressionReader"]
