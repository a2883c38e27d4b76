"""Abstract evaluation of the expressions in a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from tritonport.analysis import descriptors, dims, strides
from tritonport.analysis.calls import Calls
from tritonport.analysis.dims import Dim
from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.rearrangements import count, transposed
from tritonport.analysis.shapes import broadcast, combine_multiples, combine_strides, padding
from tritonport.analysis.values import MISSING, Kind, Operand, Refusal, Value, constant, dtype, none, opaque, scalar
from tritonport.source.module import dotted
from tritonport.source.walk import walk

BINARY: dict[type[cst.BaseBinaryOp], str] = {
    cst.Add: "add",
    cst.Subtract: "sub",
    cst.Multiply: "mul",
    cst.Divide: "div",
    cst.FloorDivide: "floordiv",
    cst.Modulo: "mod",
    cst.Power: "pow",
    cst.BitAnd: "and",
    cst.BitOr: "or",
    cst.BitXor: "xor",
    cst.LeftShift: "shl",
    cst.RightShift: "shr",
    cst.MatrixMultiply: "matmul",
}
AUGMENTED: dict[type[cst.BaseAugOp], str] = {
    cst.AddAssign: "add",
    cst.SubtractAssign: "sub",
    cst.MultiplyAssign: "mul",
    cst.DivideAssign: "div",
    cst.FloorDivideAssign: "floordiv",
    cst.ModuloAssign: "mod",
    cst.PowerAssign: "pow",
    cst.BitAndAssign: "and",
    cst.BitOrAssign: "or",
    cst.BitXorAssign: "xor",
    cst.LeftShiftAssign: "shl",
    cst.RightShiftAssign: "shr",
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
}
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
        known = descriptors.attribute(self, base, name, self.code(node))
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
        if len(base.pointers) != 1:
            return scalar()
        text = base.pointers[0]
        if isinstance(node, cst.Attribute):
            text = f"{text}.{node.attr.value}"
        elif isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
            known = self.frame.values[node.slice[0].slice.value].known
            if not isinstance(known, int):
                return scalar()
            text = f"{text}[{known}]"
        return scalar(strides.argument(text), (text,))

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
            return self._fold(op, node, a, b)
        pointers: tuple[str, ...] = ()
        if op == "add":
            pointers = tuple(dict.fromkeys(a.pointers + b.pointers))
        elif op == "sub":
            pointers = a.pointers
        factor = strides.STRIDED
        if op == "mul":
            factor = strides.scale(strides.scale(strides.UNIT, a.factor), b.factor)
        return scalar(factor, pointers, combine_multiples(op, a, b))

    def _fold(self, op: str, node: cst.CSTNode, a: Value, b: Value) -> Value:
        if isinstance(a.known, (int, float)) and isinstance(b.known, (int, float)):
            try:
                known = _ARITHMETIC[op](a.known, b.known)
            except (ArithmeticError, TypeError):
                return Value(Kind.CONSTEXPR)
            number = dims.number(known) if isinstance(known, int) else None
            return constant(known, number if a.dim is None or b.dim is None else self._dim(op, node, a.dim, b.dim))
        if a.dim is not None and b.dim is not None:
            factor = strides.scale(a.factor, b.factor) if op == "mul" else strides.STRIDED
            multiples = combine_multiples(op, a, b)
            return Value(Kind.CONSTEXPR, dim=self._dim(op, node, a.dim, b.dim), factor=factor, multiples=multiples)
        return Value(Kind.CONSTEXPR)

    def _dim(self, op: str, node: cst.CSTNode, a: Dim, b: Dim) -> Dim:
        symbols = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "pow": "**", "mod": "%", "div": "/"}
        text = f"{dims.grouped(a.text)} {symbols.get(op, op)} {dims.grouped(b.text)}"
        if op == "add":
            return dims.add(a, b, text)
        if op == "sub":
            return dims.add(a, b, text, sign=-1)
        if op == "mul":
            return dims.multiply(a, b, text)
        if op == "floordiv":
            return dims.divide(a, b, text)
        if op == "pow" and b.value is not None and 0 <= b.value < 8:
            return dims.power(a, b.value, text)
        shifts = {"shl": "<<", "shr": ">>", "and": "&", "or": "|", "xor": "^"}
        if op in shifts:
            text = f"{dims.grouped(a.text)} {shifts[op]} {dims.grouped(b.text)}"
        return dims.opaque(f"({dims.canonical(a)}){op}({dims.canonical(b)})", text)

    def elementwise(
        self,
        op: str,
        node: cst.CSTNode,
        operands: list[tuple[cst.BaseExpression, Value]],
        cheap: bool = False,
        shape: tuple[Dim, ...] | None = None,
    ) -> Value:
        """A tensor operation whose operands meet in one shape and one layout."""
        tensors = [value for _, value in operands if value.is_tensor]
        joined = broadcast([value.shape for value in tensors] + ([shape] if shape is not None else []))
        for value in tensors:
            self.descriptors.meet(value.shape, joined)
        rank = len(joined)
        index: tuple[strides.Stride, ...]
        if len(operands) == 2 and op in ("add", "sub", "mul", "mod", "or", "floordiv", "div"):
            index = combine_strides(op, operands[0][1], operands[1][1], rank)
        elif len(operands) == 1 and op in ("cast", "hint", "neg"):
            index = tensors[0].strides
        else:
            index = (strides.UNKNOWN,) * rank
        pointers: tuple[str, ...] = ()
        if op == "add":
            pointers = tuple(dict.fromkeys(pointer for _, value in operands for pointer in value.pointers))
        elif op in ("sub", "hint", "where"):
            pointers = tuple(dict.fromkeys(p for _, value in operands[:3] for p in value.pointers))
        return Value(
            Kind.TENSOR,
            shape=joined,
            strides=index,
            pointers=pointers,
            op=op,
            operands=[
                Operand(expression, value, padding(value.rank, rank) if value.is_tensor else ())
                for expression, value in operands
            ],
            cheap=cheap,
            depth=self.depth,
            node=node,
            element=joined_element(op, [value for _, value in operands]),
            multiples=joined_multiples(op, [value for _, value in operands]),
        )

    def _unary(self, node: cst.UnaryOperation) -> Value:
        value = self.evaluate(node.expression)
        op = {cst.Minus: "neg", cst.Plus: "pos", cst.Not: "not", cst.BitInvert: "invert"}[type(node.operator)]
        if value.is_tensor:
            return self.elementwise(op, node, [(node.expression, value)], cheap=True)
        if value.kind is Kind.CONSTEXPR or value.kind is Kind.NONE:
            if op == "not":
                truth = self.truth(value)
                return Value(Kind.CONSTEXPR) if truth is None else constant(not truth)
            if op == "neg" and isinstance(value.known, (int, float)):
                return constant(-value.known, dims.number(-value.known) if isinstance(value.known, int) else None)
            if op == "neg" and value.dim is not None:
                return Value(
                    Kind.CONSTEXPR, dim=dims.multiply(dims.number(-1), value.dim, f"-{dims.grouped(value.dim.text)}")
                )
            return Value(Kind.CONSTEXPR)
        return scalar()

    def _comparison(self, node: cst.Comparison) -> Value:
        if len(node.comparisons) != 1:
            raise Refusal("TP105", f"the chained comparison {self.code(node)}", node)
        target = node.comparisons[0]
        left, right = self.evaluate(node.left), self.evaluate(target.comparator)
        if isinstance(target.operator, (cst.Is, cst.IsNot)):
            same = self._identical(left, right)
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
            return self._compare_known(target.operator, left, right)
        return scalar()

    @staticmethod
    def _compare_known(operator: cst.BaseCompOp, left: Value, right: Value) -> Value:
        if left.known is MISSING or right.known is MISSING or Kind.DTYPE in (left.kind, right.kind):
            return Value(Kind.CONSTEXPR)
        try:
            if isinstance(operator, cst.Equal):
                return constant(left.known == right.known)
            if isinstance(operator, cst.NotEqual):
                return constant(left.known != right.known)
            if isinstance(operator, cst.LessThan):
                return constant(left.known < right.known)
            if isinstance(operator, cst.GreaterThan):
                return constant(left.known > right.known)
            if isinstance(operator, cst.LessThanEqual):
                return constant(left.known <= right.known)
            if isinstance(operator, cst.GreaterThanEqual):
                return constant(left.known >= right.known)
        except TypeError:
            pass
        return Value(Kind.CONSTEXPR)

    @staticmethod
    def _identical(left: Value, right: Value) -> bool | None:
        """`a is b`, as far as it is known: in practice a test against None."""
        if left.kind is Kind.NONE and right.kind is Kind.NONE:
            return True
        for value, other in ((left, right), (right, left)):
            if other.kind is Kind.NONE:
                if value.is_tensor or value.kind in (Kind.TUPLE, Kind.DTYPE, Kind.FUNCTION):
                    return False
                if value.kind is Kind.CONSTEXPR and value.known is not MISSING:
                    return value.known is None
        return None

    def truth(self, value: Value) -> bool | None:
        if value.kind is Kind.NONE:
            return False
        if value.kind is Kind.CONSTEXPR and value.known is not MISSING:
            return bool(value.known)
        return None

    def _boolean(self, node: cst.BooleanOperation) -> Value:
        left = self.evaluate(node.left)
        is_and = isinstance(node.operator, cst.And)
        truth = self.truth(left)
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
        truth = self.truth(test)
        if truth is True:
            return self.evaluate(node.body)
        if truth is False:
            return self.evaluate(node.orelse)
        body, orelse = self.evaluate(node.body), self.evaluate(node.orelse)
        if body.is_tensor or orelse.is_tensor:
            made = self.elementwise("select", node, [(node.body, body), (node.orelse, orelse)], cheap=True)
            if test.kind is Kind.CONSTEXPR and body.is_tensor and orelse.is_tensor:
                made.element = made.element or self.chosen_element(node.test, body, orelse)
            return made
        if body.kind is Kind.CONSTEXPR and orelse.kind is Kind.CONSTEXPR:
            if test.kind is Kind.CONSTEXPR:
                return Value(Kind.CONSTEXPR, dim=self.choice(node.test, body.dim, orelse.dim))
            return Value(Kind.CONSTEXPR)
        return self.merge_values([body, orelse], "select")

    def choice(self, test: cst.BaseExpression, body: Dim | None, orelse: Dim | None) -> Dim | None:
        """The size that a compile-time test picks, spelled so that it can stand at the head of the kernel."""
        text = self._written_out(test, self.frame)
        if text is None or body is None or orelse is None:
            return None
        text = f"({body.text} if {text} else {orelse.text})"
        return dims.opaque(text, text)

    def chosen_element(self, test: cst.BaseExpression, body: Value, orelse: Value) -> tuple[str, ...]:
        """The element type that a compile-time test picks, spelled so that it can stand at the head of the kernel."""
        types = [self._dtype_text(value.element) for value in (body, orelse)]
        if None in types:
            return ()
        text = self._written_out(test, self.frame)
        return () if text is None else (f"({types[0]} if {text} else {types[1]})",)

    def _dtype_text(self, element: tuple[str, ...]) -> str | None:
        """One element type as source text; None where it is not known, or could be that of several pointers."""
        if len(element) != 1:
            return None
        launched = self.frame.chain[-1].kernel.parameters
        is_pointer = any(one.name == element[0] and not one.constexpr for one in launched)
        return f"{element[0]}.dtype.element_ty" if is_pointer else element[0]

    def _written_out(self, node: cst.BaseExpression, frame: Frame) -> str | None:
        """The text of an expression with the locals in it replaced by what they stand for; None where that is not
        known."""
        texts: dict[cst.CSTNode, str] = {}
        inside: set[cst.CSTNode] = set()
        for name in walk(node):
            if name in inside:
                continue
            value = frame.values.get(name)
            if isinstance(name, cst.Attribute) and value is not None and value.kind is Kind.DTYPE:
                # The type of a tensor, whatever it was computed from.
                dtype_text = self._dtype_text(value.element)
                if dtype_text is None:
                    return None
                texts[name] = dtype_text
                inside.update(walk(name))
                continue
            definition = frame.reads.get(name)
            if definition is None:
                continue
            text = self._definition_text(definition)
            if text is None:
                return None
            texts[name] = text
        written = node.visit(_Replacer(texts))
        assert isinstance(written, cst.BaseExpression)
        return self.code(written)

    def _definition_text(self, definition: Definition) -> str | None:
        value = definition.value
        if value.is_tensor:
            return None
        if definition.how == "parameter" and definition.frame.caller is None:
            return definition.name
        if value.kind is Kind.CONSTEXPR and value.dim is not None:
            return dims.grouped(value.dim.text)
        if value.kind is Kind.NONE or (value.kind is Kind.CONSTEXPR and value.known is not MISSING):
            return repr(value.known)
        if definition.how == "assign" and definition.expression is not None:
            text = self._written_out(definition.expression, definition.frame)
            return None if text is None else dims.grouped(text)
        return None

    def merge_values(self, values: list[Value], op: str) -> Value:
        raise NotImplementedError

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
                    return self._spread(node, base, len(new_axes))
                return self._field(node, base) if base.kind is Kind.SCALAR else scalar()
            raise Refusal("TP105", f"the subscript {self.code(node)}", node)
        return self.expand(node, (node.value, base), [self._new_axis(index) for index in indices])

    def _spread(self, node: cst.Subscript, base: Value, rank: int) -> Value:
        """`x[None, None]` of a scalar: a tensor of one element, as `tl.expand_dims` makes it."""
        return Value(
            Kind.TENSOR,
            shape=(dims.ONE,) * rank,
            strides=(strides.ZERO,) * rank,
            pointers=base.pointers,
            op="splat",
            multiples=base.multiples,
            operands=[Operand(node.value, base)],
            cheap=True,
            depth=self.depth,
            node=node,
        )

    def _new_axis(self, index: cst.BaseSlice) -> bool:
        if isinstance(index, cst.Index):
            return self.frame.values[index.value].kind is Kind.NONE
        return False

    def expand(self, node: cst.CSTNode, base: tuple[cst.BaseExpression, Value], pattern: list[bool]) -> Value:
        """`x[:, None]`: True marks a new axis."""
        value = base[1]
        kept = pattern.count(False)
        if kept > value.rank:
            raise Refusal("TP105", f"the subscript {self.code(node)}", node)
        pattern = pattern + [False] * (value.rank - kept)
        shape: list[Dim] = []
        index: list[strides.Stride] = []
        axes: list[int] = []
        old = 0
        own = value.strides or (strides.UNKNOWN,) * value.rank
        for position, new in enumerate(pattern):
            if new:
                shape.append(dims.ONE)
                index.append(strides.ZERO)
                axes.append(position)
            else:
                shape.append(value.shape[old])
                index.append(own[old])
                old += 1
        return Value(
            Kind.TENSOR,
            shape=tuple(shape),
            strides=tuple(index),
            pointers=value.pointers,
            op="expand",
            multiples=value.multiples,
            element=value.element,
            operands=[Operand(base[0], value, tuple(axes))],
            cheap=True,
            depth=self.depth,
            node=node,
        )

    def code(self, node: cst.CSTNode) -> str:
        return self.module.tree.code_for_node(node)


class _Replacer(cst.CSTTransformer):
    """Puts texts in the place of nodes."""

    def __init__(self, texts: dict[cst.CSTNode, str]) -> None:
        super().__init__()
        self.texts = texts

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        text = self.texts.get(original_node)
        return updated_node if text is None else cst.parse_expression(text)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        text = self.texts.get(original_node)
        return updated_node if text is None else cst.parse_expression(text)


def joined_multiples(op: str, values: list[Value]) -> frozenset[str]:
    """The `multiples` of an elementwise result."""
    if len(values) == 2 and op in ("add", "sub", "mul", "mod"):
        return combine_multiples(op, values[0], values[1])
    if op in ("cast", "hint", "broadcast", "where", "select", "neg"):
        return frozenset(name for value in values for name in value.multiples)
    return frozenset()


_FLOAT32 = ("gl.float32",)
_FLOAT64 = ("gl.float64",)
_FLOAT16 = ("gl.float16",)
_PROMOTING = frozenset({"add", "sub", "mul", "div", "where", "maximum", "minimum", "max", "min", "fma"})
# No scalar of a kernel is wider: a Python float that is passed to one is a float32.
_WIDEST = frozenset({_FLOAT32, _FLOAT64})


def joined_element(op: str, operands: list[Value]) -> tuple[str, ...]:
    """The element type of an elementwise result, where the operands' types say it.

    A scalar of the run time takes part in that: 16-bit elements times a float32 argument are float32, and an index plus
    a pointer argument is a pointer. What the scalar is, the source does not say.
    """
    if op in ("compare", "logical", "not"):
        return ("gl.int1",)
    if op == "where" and len(operands) > 1:
        operands = operands[1:]
    found = {value.element for value in operands if value.is_tensor}
    if op == "div" or len(found) > 1:
        return _promoted(op, found) if op in _PROMOTING else ()
    if not found:
        return ()
    element = found.pop()
    if any(value.kind is Kind.SCALAR for value in operands) and element not in _WIDEST:
        return ()
    if element and all(_is_integer(text) for text in element) and _has_float(operands):
        return _FLOAT32
    return element


def _promoted(op: str, found: set[tuple[str, ...]]) -> tuple[str, ...]:
    """The type that operands of several types become; source: `computation_type_impl` of `triton/language/semantic.py`.

    A quotient is never narrower than float32. What is read through a pointer is taken not to be float64 there: a
    kernel that is launched with one does not compile, because the layout of its dot is one of float32.
    """
    if _FLOAT64 in found:
        return _FLOAT64
    if op == "div" or _FLOAT32 in found:
        return _FLOAT32
    known = all(element and element[0].startswith("gl.") for element in found)
    if known and _FLOAT16 in found:
        return _FLOAT16
    return _FLOAT32 if known and ("gl.bfloat16",) in found else ()


def _is_integer(text: str) -> bool:
    return text.startswith(("gl.int", "gl.uint"))


def _has_float(operands: list[Value]) -> bool:
    return any(value.kind is Kind.CONSTEXPR and isinstance(value.known, float) for value in operands)


__all__ = ["Expressions", "opaque"]
