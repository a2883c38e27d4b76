"""Reading index arithmetic into affine forms."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import forms
from tritonport.analysis.access.effects import READS_MORE, makes_tiles, reads_more
from tritonport.analysis.access.forms import Axis, Condition, Each, Form, Mask, Opaque, Several, Value
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import replaced, walk

Environment = dict[str, Value]
PASS_THROUGH = frozenset({"to", "cast", "convert_layout", "multiple_of", "max_contiguous", "max_constancy"})
MEMORY = {"load": "load", "store": "store"}
LANGUAGE = ("triton.language.", "triton.experimental.gluon.language.")
WIDE, NARROW = " read as it is", " read in 32 bits"
"""What is in the names of numbers that are read from memory: as they are there, and cast to an int32."""
_SMALL = re.compile(r"u?int(1|8|16)|b?float\w*|fp\w*")
"""The types that do not hold every index."""
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
        if isinstance(value, Mask) and _is_number(value) and isinstance(operator, cst.Multiply):
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

    # -- calls

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
        if path is not None and not self.loose and self._reads_more(path, short):
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

    def _reads_more(self, path: str, short: str) -> bool:
        """Whether a second call with the same arguments may give another number; of a function that is an argument
        nothing is known."""
        return path in self.parameters or short.startswith(READS_MORE) or reads_more(self.module, path)

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
        if values and isinstance(values[0], Mask) and _is_number(values[0]):
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


def _targets(body: cst.CSTNode) -> Iterator[str]:
    """The names that statements give a value, as often as they do."""
    for node in walk(body):
        if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign)):
            yield from (one.value for one in walk(node.target) if isinstance(one, cst.Name))


def _is_number(mask: Mask) -> bool:
    """Whether a condition compares numbers alone, and so is one itself."""
    compared = (form for one in mask.conditions for form in (one.form, one.bound))
    return not mask.opaque and all(form.is_scalar for form in compared)


_HANDLED = frozenset({"arange", "zeros", "full", "minimum", "where", "expand_dims"})

__all__ = ["NARROW", "WIDE", "Environment", "ExpressionReader"]
