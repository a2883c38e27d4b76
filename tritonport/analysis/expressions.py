"""Abstract evaluation of the expressions in a kernel."""

from __future__ import annotations

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.calls import Calls
from tritonport.analysis.merging import merge_values
from tritonport.analysis.operations.rearrangements import count, transposed
from tritonport.analysis.operators import AUGMENTED, BINARY, compared, fold, identical, negated, truth_of
from tritonport.analysis.shapes import combine_multiples
from tritonport.analysis.values import Kind, Refusal, Value, constant, dtype, none, scalar
from tritonport.analysis.written_out import chosen_element, chosen_shape, chosen_size
from tritonport.source.syntax import dotted

_BUILTIN_CONSTANTS = {"True": True, "False": False, "None": None}
_BUILTIN_FUNCTIONS = frozenset(
    {"range", "min", "max", "abs", "float", "int", "bool", "len", "print", "isinstance", "str", "type", "tuple"}
)


class Expressions(Calls):
    """`evaluate` gives every expression of the current frame a value and remembers it."""

    def evaluate(self, node: cst.BaseExpression) -> Value:
        value = self._evaluate(node)
        self.frame.values[node] = value
        if value.node is None:
            value.node = node
        return value

    def _evaluate(self, node: cst.BaseExpression) -> Value:
        if isinstance(node, cst.Name):
            return self._name(node)
        if isinstance(node, cst.Integer):
            return constant(node.evaluated_value, dims.number(node.evaluated_value))
        if isinstance(node, cst.Float):
            return constant(node.evaluated_value)
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
            return constant(node.evaluated_value)
        if isinstance(node, cst.FormattedString):
            for part in node.parts:
                if isinstance(part, cst.FormattedStringExpression):
                    self.evaluate(part.expression)
            return Value(Kind.CONSTEXPR)
        if isinstance(node, cst.Attribute):
            return self._attribute(node)
        if isinstance(node, cst.Call):
            return self.call(node)
        if isinstance(node, cst.BinaryOperation):
            left, right = self.evaluate(node.left), self.evaluate(node.right)
            return self.binary(BINARY[type(node.operator)], node, (node.left, left), (node.right, right))
        if isinstance(node, cst.UnaryOperation):
            return self._unary(node)
        if isinstance(node, cst.Comparison):
            return self._comparison(node)
        if isinstance(node, cst.BooleanOperation):
            return self._boolean(node)
        if isinstance(node, cst.Subscript):
            return self._subscript(node)
        if isinstance(node, cst.IfExp):
            return self._conditional(node)
        if isinstance(node, (cst.Tuple, cst.List)):
            items: list[Value] = []
            for element in node.elements:
                if isinstance(element, cst.StarredElement):
                    inner = self.evaluate(element.value)
                    if inner.kind is not Kind.TUPLE:
                        raise Refusal("TP105", f"the starred {self.code(element.value)}", element)
                    items.extend(inner.items)
                else:
                    items.append(self.evaluate(element.value))
            return Value(Kind.TUPLE, items=tuple(items))
        raise Refusal("TP105", f"{self.code(node)} in a kernel", node)

    # -- names

    def _name(self, node: cst.Name) -> Value:
        name = node.value
        if name in self.environment:
            definition = self.environment[name]
            self.frame.reads[node] = definition
            return definition.value
        value = self._global(node)
        if value is None:
            if name in _BUILTIN_CONSTANTS:
                known = _BUILTIN_CONSTANTS[name]
                return none() if known is None else constant(known)
            if name in _BUILTIN_FUNCTIONS:
                return Value(Kind.FUNCTION, function=f"builtins.{name}")
            where = "in this file" if self.module is self.root else f"in {self.module.path}"
            raise Refusal("TP102", f"the name {name} is not defined {where}", node)
        return value

    def _attribute(self, node: cst.Attribute) -> Value:
        head: cst.BaseExpression = node
        while isinstance(head, cst.Attribute):
            head = head.value
        local = isinstance(head, cst.Name) and head.value in self.environment
        if not local and dotted(node) is not None:
            found = self.path_value(dotted(node) or "", node)
            if found is not None:
                return found
            kernel = self.module.kernel_by_path(dotted(node) or "", self.frame.kernel)
            if kernel is not None:
                return Value(Kind.FUNCTION, function=kernel)
        base = self.evaluate(node.value)
        name = node.attr.value
        known = self.descriptors.attribute(base, name, self.code(node))
        if known is not None:
            return known
        if name in ("dtype", "element_ty", "scalar") and base.kind in (Kind.TENSOR, Kind.SCALAR, Kind.DTYPE):
            return dtype(self.code(node), base.element or base.pointers)
        if name == "type" and base.kind in (Kind.TENSOR, Kind.SCALAR):
            return dtype(self.code(node), base.element or base.pointers)
        if name == "shape" and base.kind is Kind.SCALAR and not base.pointers:
            return Value(Kind.TUPLE)
        if name == "shape" and base.is_tensor:
            return Value(Kind.TUPLE, items=tuple(Value(Kind.CONSTEXPR, dim=dim) for dim in base.shape))
        if name == "T" and base.is_tensor:
            return transposed(self, node, base)
        if name == "numel" and base.is_tensor:
            return Value(Kind.CONSTEXPR, dim=count(base.shape))
        if base.kind in (Kind.DTYPE, Kind.OBJECT, Kind.CONSTEXPR, Kind.SCALAR, Kind.TUPLE, Kind.FUNCTION):
            if base.kind is Kind.SCALAR and name not in ("value", "numel", "name", "itemsize"):
                return self._field(node, base)
            return Value(Kind.CONSTEXPR)
        raise Refusal("TP107", f"the attribute .{name} of a {base.kind.value}", node)

    def _field(self, node: cst.BaseExpression, base: Value) -> Value:
        """A field or an element of a tuple argument: it may be a pointer or a stride, and goes by its own spelling."""
        compile_time = base.kind is Kind.CONSTEXPR
        names = base.factor.names if compile_time else base.pointers
        if len(names) != 1:
            return scalar()
        text = names[0]
        if isinstance(node, cst.Attribute):
            text = f"{text}.{node.attr.value}"
        elif isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
            known = self.frame.values[node.slice[0].slice.value].known
            if not isinstance(known, int):
                return scalar()
            text = f"{text}[{known}]"
        return scalar(strides.argument(text, compile_time), () if compile_time else (text,), frozenset({text}))

    # -- operators

    def augmented(self, statement: cst.AugAssign) -> Value:
        left, right = self.evaluate(statement.target), self.evaluate(statement.value)
        op = AUGMENTED.get(type(statement.operator))
        if op is None:
            raise Refusal("TP105", f"the operator of {self.code(statement)}", statement)
        value = self.binary(op, statement, (statement.target, left), (statement.value, right))
        value.node = statement
        self.frame.values[statement] = value
        return value

    def binary(
        self,
        op: str,
        node: cst.CSTNode,
        left: tuple[cst.BaseExpression, Value],
        right: tuple[cst.BaseExpression, Value],
    ) -> Value:
        a, b = left[1], right[1]
        if op == "matmul":
            raise Refusal("TP101", "the @ operator is not converted by this version", node)
        for operand, value in (left, right):
            if value.kind is Kind.OBJECT and value.op == "mixed":
                raise Refusal("TP203", f"{self.code(operand)} has a different rank on different paths", operand)
        if op in ("mul", "mod", "floordiv", "div", "shl", "shr", "and", "xor"):
            self.not_a_pointer(a)
            self.not_a_pointer(b)
        if a.is_tensor or b.is_tensor:
            return self.elementwise(op, node, [left, right], cheap=op not in ("pow",))
        if a.kind is Kind.TUPLE and b.kind is Kind.TUPLE and op == "add":
            return Value(Kind.TUPLE, items=a.items + b.items)
        if a.kind is Kind.CONSTEXPR and b.kind is Kind.CONSTEXPR:
            return fold(op, a, b)
        pointers: tuple[str, ...] = ()
        if op == "add":
            pointers = tuple(dict.fromkeys(a.pointers + b.pointers))
        elif op == "sub":
            pointers = a.pointers
        factor = strides.STRIDED
        if op == "mul":
            factor = strides.scale(strides.scale(strides.UNIT, a.factor), b.factor)
        return scalar(factor, pointers, combine_multiples(op, a, b))

    def _unary(self, node: cst.UnaryOperation) -> Value:
        value = self.evaluate(node.expression)
        op = {cst.Minus: "neg", cst.Plus: "pos", cst.Not: "not", cst.BitInvert: "invert"}[type(node.operator)]
        if value.is_tensor:
            return self.elementwise(op, node, [(node.expression, value)], cheap=True)
        if value.kind is Kind.CONSTEXPR or value.kind is Kind.NONE:
            if op == "not":
                truth = truth_of(value)
                return Value(Kind.CONSTEXPR) if truth is None else constant(not truth)
            return negated(value) if op == "neg" else Value(Kind.CONSTEXPR)
        return scalar()

    def _comparison(self, node: cst.Comparison) -> Value:
        if len(node.comparisons) != 1:
            raise Refusal("TP105", f"the chained comparison {self.code(node)}", node)
        target = node.comparisons[0]
        left, right = self.evaluate(node.left), self.evaluate(target.comparator)
        if isinstance(target.operator, (cst.Is, cst.IsNot)):
            same = identical(left, right)
            if same is None:
                return Value(Kind.CONSTEXPR)
            return constant(same if isinstance(target.operator, cst.Is) else not same)
        if isinstance(target.operator, (cst.In, cst.NotIn)):
            return Value(Kind.CONSTEXPR)
        self.not_a_pointer(left)
        self.not_a_pointer(right)
        if left.is_tensor or right.is_tensor:
            return self.elementwise("compare", node, [(node.left, left), (target.comparator, right)], cheap=True)
        constants = (Kind.CONSTEXPR, Kind.NONE, Kind.DTYPE, Kind.OBJECT)
        if left.kind in constants and right.kind in constants:
            return compared(target.operator, left, right)
        return scalar()

    def _boolean(self, node: cst.BooleanOperation) -> Value:
        left = self.evaluate(node.left)
        is_and = isinstance(node.operator, cst.And)
        truth = truth_of(left)
        if truth is not None and truth is not is_and:
            # Triton's own front end stops here too: `x is not None and x > 0`.
            return left if left.kind is Kind.CONSTEXPR else constant(truth)
        right = self.evaluate(node.right)
        if left.is_tensor or right.is_tensor:
            return self.elementwise("logical", node, [(node.left, left), (node.right, right)], cheap=True)
        if truth is not None:
            return right
        if left.kind is Kind.CONSTEXPR and right.kind in (Kind.CONSTEXPR, Kind.NONE):
            return Value(Kind.CONSTEXPR)
        return scalar()

    def _conditional(self, node: cst.IfExp) -> Value:
        test = self.evaluate(node.test)
        truth = truth_of(test)
        if truth is True:
            return self.evaluate(node.body)
        if truth is False:
            return self.evaluate(node.orelse)
        body, orelse = self.evaluate(node.body), self.evaluate(node.orelse)
        if body.is_tensor or orelse.is_tensor:
            made = self.elementwise("select", node, [(node.body, body), (node.orelse, orelse)], cheap=True)
            if test.kind is Kind.CONSTEXPR and body.is_tensor and orelse.is_tensor:
                made.shape = chosen_shape(self.frame, node.test, made, body, orelse)
                made.element = made.element or chosen_element(self.frame, node.test, body, orelse)
            return made
        if body.kind is Kind.CONSTEXPR and orelse.kind is Kind.CONSTEXPR:
            if test.kind is Kind.CONSTEXPR:
                return Value(Kind.CONSTEXPR, dim=chosen_size(self.frame, node.test, body.dim, orelse.dim))
            return Value(Kind.CONSTEXPR)
        return merge_values([body, orelse], "select", self.depth)

    # -- subscripts

    def _subscript(self, node: cst.Subscript) -> Value:
        base = self.evaluate(node.value)
        indices = [element.slice for element in node.slice]
        for index in indices:
            if isinstance(index, cst.Index):
                self.evaluate(index.value)
        if base.kind is Kind.TUPLE:
            if len(indices) == 1 and isinstance(indices[0], cst.Index):
                chosen = self.frame.values[indices[0].value]
                if isinstance(chosen.known, int) and -len(base.items) <= chosen.known < len(base.items):
                    return base.items[chosen.known]
            if base.items and len({item.kind for item in base.items}) == 1 and not base.items[0].is_tensor:
                return Value(base.items[0].kind)
            raise Refusal("TP105", f"the subscript {self.code(node)}", node)
        if not base.is_tensor:
            if base.kind in (Kind.SCALAR, Kind.OBJECT, Kind.CONSTEXPR, Kind.DTYPE):
                new_axes = [self._new_axis(index) for index in indices]
                if base.kind is Kind.SCALAR and any(new_axes):
                    if not all(new_axes):
                        raise Refusal("TP105", f"the subscript {self.code(node)} of a scalar", node)
                    return self.spread(node, base, len(new_axes))
                return self._field(node, base) if base.kind in (Kind.SCALAR, Kind.CONSTEXPR) else scalar()
            raise Refusal("TP105", f"the subscript {self.code(node)}", node)
        return self.expand(node, (node.value, base), [self._new_axis(index) for index in indices])

    def _new_axis(self, index: cst.BaseSlice) -> bool:
        if isinstance(index, cst.Index):
            return self.frame.values[index.value].kind is Kind.NONE
        return False
