"""Abstract interpretation of kernels: statements, names and control flow.

The interpreter walks a function once per call that reaches it, over symbolic values. Loops are walked until the kinds
of the values they carry stop changing. Where a test is known (an argument that is `None`, a flag a helper was called
with) only the branch that runs is read; otherwise both are, and their definitions are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.expressions import Expressions
from tritonport.analysis.frame import Definition, Environment, Frame
from tritonport.analysis.shapes import broadcast, padding
from tritonport.analysis.values import MISSING, Kind, Operand, Refusal, Value, constant, none, opaque, scalar
from tritonport.source.embedded import launch_facts
from tritonport.source.module import Kernel, SourceModule, dotted
from tritonport.source.walk import assigned_names, walk

MAX_ROUNDS = 4
MAX_CALL_DEPTH = 16
MAX_ITEMS = 8


class Interpreter(Expressions):
    """Walks the kernels of one module. `frame` and `environment` are those of the function being read."""

    def __init__(self, module: SourceModule) -> None:
        super().__init__(module)
        self.depth = 0
        self.call_depth = 0

    def run(self, kernel: Kernel) -> Frame:
        """Read a kernel as it is launched: parameters are unknown scalars, pointers or constexprs.

        It is read again while something is learned of its descriptors that an earlier line could have used.
        """
        for _ in range(MAX_ROUNDS):
            self.descriptors.changed = False
            frame = self._read(kernel)
            if not self.descriptors.changed:
                break
        return frame

    def _read(self, kernel: Kernel) -> Frame:
        frame = Frame(kernel)
        environment: Environment = {}
        for parameter in kernel.parameters:
            if parameter.star:
                raise Refusal("TP105", f"a kernel parameter *{parameter.name}", kernel.node)
            if parameter.constexpr:
                value = Value(
                    Kind.CONSTEXPR,
                    dim=dims.symbol(parameter.name),
                    factor=strides.argument(parameter.name),
                    multiples=frozenset({parameter.name}),
                )
            else:
                name = parameter.name
                value = scalar(strides.argument(name), (name,), frozenset({name}))
            definition = Definition(parameter.name, value, "parameter", frame)
            environment[parameter.name] = frame.parameters[parameter.name] = definition
        self._launched(kernel, frame)
        with self.reading(kernel.module):
            self._body(frame, environment)
        return frame

    def _launched(self, kernel: Kernel, frame: Frame) -> None:
        """What the file says of the arguments beside the parameters: which are numbers, which are constants."""
        facts = launch_facts(kernel)
        self.integers |= facts.integers
        for name, definition in frame.parameters.items():
            if facts.types.get(name) == "constexpr" and definition.value.kind is Kind.SCALAR:
                definition.value = Value(Kind.CONSTEXPR, dim=dims.symbol(name), factor=strides.argument(name))

    def inline(self, kernel: Kernel, call: cst.Call, arguments: dict[str, Value], variant: bool = False) -> Value:
        """Read a helper for one call and return what the call gives back."""
        if self.call_depth >= MAX_CALL_DEPTH:
            raise Refusal("TP105", f"{kernel.name} calls itself", call)
        caller = self.frame
        frame = Frame(kernel, caller=caller, call=call, depth=self.depth)
        if variant:
            caller.variants[call].append(frame)
        else:
            caller.calls[call] = frame
        environment: Environment = {}
        for parameter in kernel.parameters:
            given = arguments.get(parameter.name)
            if given is None:
                if parameter.default is None:
                    raise Refusal("TP105", f"{kernel.name} is called without {parameter.name}", call)
                with self.reading(kernel.module):
                    given = self.module_value(parameter.default)
            definition = Definition(parameter.name, self._boundary(given, "parameter", call), "parameter", frame)
            if parameter.constexpr and given.kind is Kind.CONSTEXPR:
                definition.value = given
            environment[parameter.name] = frame.parameters[parameter.name] = definition
        saved = self.frame, self.environment, self.depth
        self.call_depth += 1
        try:
            with self.reading(kernel.module):
                self._body(frame, environment)
        except Refusal as refusal:
            if kernel.module is not caller.kernel.module:
                raise self._from_elsewhere(refusal, kernel, call) from None
            raise
        finally:
            self.call_depth -= 1
            self.frame, self.environment, _ = saved
            self.depth = saved[2]
        returned = [value for _, value in frame.returns]
        if not returned:
            return none()
        if len({len(value.items) for value in returned if value.kind is Kind.TUPLE}) > 1:
            # Which of them comes back is decided by an argument; the caller unpacks the number it expects.
            choices = tuple(self._boundary(value, "call", call) for value in returned)
            return Value(Kind.OBJECT, op="choices", items=choices)
        result = self.merge_values(returned, "return") if len(returned) > 1 else returned[0]
        return self._boundary(result, "call", call)

    def _from_elsewhere(self, refusal: Refusal, kernel: Kernel, call: cst.Call) -> Refusal:
        """What stands in another file is reported at the call that leads there."""
        line, _ = kernel.module.position(refusal.node) if refusal.node is not None else (1, 1)
        return Refusal(
            refusal.code, f"{refusal.message} (in {kernel.name}, {kernel.module.path}:{line})", call, refusal.hint
        )

    def _boundary(self, value: Value, op: str, node: cst.CSTNode) -> Value:
        """A value that crosses a call: a tensor keeps one layout there, whatever it was made of."""
        if value.kind is Kind.TUPLE:
            return Value(Kind.TUPLE, items=tuple(self._boundary(item, op, node) for item in value.items))
        if not value.is_tensor:
            return value
        return Value(
            Kind.TENSOR,
            shape=value.shape,
            strides=value.strides,
            pointers=value.pointers,
            element=value.element,
            multiples=value.multiples,
            op=op,
            operands=[Operand(None, value)],
            depth=self.depth,
            node=node,
        )

    def _body(self, frame: Frame, environment: Environment) -> None:
        self.frame, self.environment = frame, environment
        body = frame.kernel.node.body
        if isinstance(body, cst.SimpleStatementSuite):
            for small in body.body:
                self._small(small)
            return
        assert isinstance(body, cst.IndentedBlock)
        self._suite(body.body)

    # -- statements

    def _suite(self, statements: Sequence[cst.BaseStatement]) -> bool:
        """Read statements in order; False where a `return` ends the path."""
        return all(self._statement(statement) for statement in statements)

    def _block(self, body: cst.BaseSuite) -> bool:
        if isinstance(body, cst.SimpleStatementSuite):
            return all(self._small(small) for small in body.body)
        assert isinstance(body, cst.IndentedBlock)
        return self._suite(body.body)

    def _statement(self, statement: cst.BaseStatement) -> bool:
        if isinstance(statement, cst.SimpleStatementLine):
            return all(self._small(small) for small in statement.body)
        if isinstance(statement, cst.If):
            return self._if(statement)
        if isinstance(statement, cst.For):
            self._for(statement)
            return True
        if isinstance(statement, cst.While):
            self._loop(statement, statement.body, lambda: self.evaluate(statement.test))
            return True
        raise Refusal("TP105", f"a {_name_of(statement)} statement in a kernel", statement)

    def _small(self, statement: cst.BaseSmallStatement) -> bool:
        if isinstance(statement, cst.Expr):
            self.evaluate(statement.value)
            self._learn_lengths(statement.value)
        elif isinstance(statement, cst.Assign):
            value = self.evaluate(statement.value)
            for target in statement.targets:
                self.assign(target.target, value, statement.value)
        elif isinstance(statement, cst.AnnAssign):
            if statement.value is None:
                return True
            value = self.evaluate(statement.value)
            constexpr = self.module.is_constexpr(statement.annotation.annotation)
            if constexpr and isinstance(statement.target, cst.Name):
                value = self._local_constexpr(statement.target.value, value)
            self.assign(statement.target, value, statement.value, keep_constexpr=constexpr)
        elif isinstance(statement, cst.AugAssign):
            value = self.augmented(statement)
            self.assign(statement.target, value, None)
        elif isinstance(statement, cst.Return):
            returned = self.evaluate(statement.value) if statement.value is not None else none()
            self.frame.returns = [pair for pair in self.frame.returns if pair[0] is not statement]
            self.frame.returns.append((statement, returned))
            return False
        elif isinstance(statement, cst.Assert):
            self.evaluate(statement.test)
            if statement.msg is not None:
                self.evaluate(statement.msg)
        elif isinstance(statement, cst.Pass):
            pass
        elif isinstance(statement, cst.Raise):
            return False
        else:
            raise Refusal("TP105", f"a {_name_of(statement)} statement in a kernel", statement)
        return True

    def _learn_lengths(self, node: cst.BaseExpression) -> None:
        """`tl.static_assert(len(a) == len(b))` says how many items a tuple argument has."""
        if not isinstance(node, cst.Call) or self.frame.operations.get(node) != "static_assert" or not node.args:
            return
        test = node.args[0].value
        if not isinstance(test, cst.Comparison) or not isinstance(test.comparisons[0].operator, cst.Equal):
            return
        sides = [test.left, test.comparisons[0].comparator]
        for one, other in (sides, sides[::-1]):
            count = self.frame.values[one].known
            if isinstance(count, int) and isinstance(other, cst.Call) and self.frame.values[other].known is MISSING:
                argument = other.args[0].value if len(other.args) == 1 else None
                if isinstance(argument, cst.Name) and dotted(other.func) == "len":
                    self.frame.lengths[argument.value] = count

    def _unroll(self, statement: cst.For, iterable: cst.Call) -> bool:
        """Read a static loop over the items of a tuple once per item; False for every other loop."""
        if self.frame.caller is None or len(iterable.args) != 1 or not isinstance(statement.target, cst.Name):
            return False
        count = self.frame.values[iterable.args[0].value].known
        if not isinstance(count, int) or not 0 < count <= MAX_ITEMS or not self._takes_items(statement):
            return False
        for index in range(count):
            self.assign(statement.target, constant(index, dims.number(index)), None, keep_constexpr=True)
            self._block(statement.body)
        self.frame.unrolled = True
        return True

    def _takes_items(self, statement: cst.For) -> bool:
        """Whether a loop takes items of tuples that are of different kinds: `indices[axis]`."""
        assert isinstance(statement.target, cst.Name)
        for node in walk(statement.body):
            if not isinstance(node, cst.Subscript) or not isinstance(node.value, cst.Name) or len(node.slice) != 1:
                continue
            index = node.slice[0].slice
            named = isinstance(index, cst.Index) and isinstance(index.value, cst.Name)
            holder = self.environment.get(node.value.value)
            if named and holder is not None and holder.value.kind is Kind.TUPLE:
                return True
        return False

    def _local_constexpr(self, name: str, value: Value) -> Value:
        """A local compile-time value is a symbol of its own spelling; its size stays comparable."""
        if value.kind is Kind.CONSTEXPR and value.dim is not None:
            return Value(
                Kind.CONSTEXPR, dim=dims.Dim(value.dim.terms, value.dim.text), known=value.known, factor=value.factor
            )
        return value

    def assign(
        self,
        target: cst.BaseExpression,
        value: Value,
        expression: cst.BaseExpression | None,
        keep_constexpr: bool = False,
    ) -> None:
        if isinstance(target, cst.Name):
            if (
                value.kind is Kind.CONSTEXPR
                and not keep_constexpr
                and (isinstance(value.known, (int, float, Kind)) or (value.known is MISSING and value.dim is not None))
            ):
                value = scalar(value.factor, (), value.multiples)
            definition = Definition(
                target.value, value, "assign", self.frame, self.depth, statement=target, expression=expression
            )
            self.environment[target.value] = self.frame.targets[target] = definition
            return
        if isinstance(target, (cst.Tuple, cst.List)):
            elements = [element.value for element in target.elements]
            if value.op == "choices":
                fitting = [item for item in value.items if item.kind is Kind.TUPLE and len(item.items) == len(elements)]
                value = self.merge_values(fitting, "return") if len(fitting) > 1 else fitting[0] if fitting else value
            parts: Sequence[cst.BaseExpression | None] = [None] * len(elements)
            if isinstance(expression, (cst.Tuple, cst.List)) and len(expression.elements) == len(elements):
                parts = [element.value for element in expression.elements]
            items = value.items if value.kind is Kind.TUPLE and len(value.items) == len(elements) else None
            if items is None and value.kind is Kind.TUPLE:
                raise Refusal("TP105", f"unpacking {len(value.items)} values into {len(elements)} names", target)
            for position, element in enumerate(elements):
                self.assign(
                    element, items[position] if items is not None else scalar(), parts[position], keep_constexpr
                )
            return
        raise Refusal("TP105", f"assignment to {self.code(target)}", target)

    def _if(self, statement: cst.If) -> bool:
        test = self.evaluate(statement.test)
        truth = self.truth(test)
        if truth is True:
            return self._block(statement.body)
        if truth is False:
            return self._orelse(statement.orelse)
        before = dict(self.environment)
        then_goes_on = self._block(statement.body)
        then = self.environment
        self.environment = dict(before)
        else_goes_on = self._orelse(statement.orelse)
        otherwise = self.environment
        if then_goes_on and else_goes_on:
            self.environment = self._merge(
                then, otherwise, statement, statement.test if test.kind is Kind.CONSTEXPR else None
            )
        elif then_goes_on:
            self.environment = then
        return then_goes_on or else_goes_on

    def _orelse(self, orelse: cst.If | cst.Else | None) -> bool:
        if orelse is None:
            return True
        if isinstance(orelse, cst.If):
            return self._if(orelse)
        return self._block(orelse.body)

    def _merge(
        self, left: Environment, right: Environment, node: cst.CSTNode, test: cst.BaseExpression | None
    ) -> Environment:
        merged: Environment = {}
        for name in [*left, *(name for name in right if name not in left)]:
            first, second = left.get(name), right.get(name)
            if first is None or second is None or first is second:
                chosen = first or second
                assert chosen is not None
                merged[name] = chosen
                continue
            merged[name] = self._phi(name, [first, second], node)
            value = merged[name].value
            value.choice = test is not None and value.op == "phi"
            if test is not None and value.choice and not value.element:
                value.element = self.chosen_element(test, first.value, second.value)
            if test is not None and value.kind is Kind.CONSTEXPR and value.dim is None:
                value.dim = self.choice(test, first.value.dim, second.value.dim)
        return merged

    def _phi(self, name: str, sources: list[Definition], node: cst.CSTNode) -> Definition:
        value = self.merge_values([source.value for source in sources], "phi")
        definition = Definition(name, value, "phi", self.frame, self.depth, sources=sources, statement=node)
        self.frame.merges.append(definition)
        return definition

    def merge_values(self, values: list[Value], op: str) -> Value:
        """What a name can be after two paths meet."""
        tensors = [value for value in values if value.is_tensor]
        if tensors:
            ranks = {value.rank for value in tensors}
            if len(ranks) > 1:
                return Value(Kind.OBJECT, op="mixed")
            return Value(
                Kind.TENSOR,
                shape=broadcast([value.shape for value in tensors]),
                strides=_merge_strides(tensors),
                pointers=tuple(dict.fromkeys(pointer for value in tensors for pointer in value.pointers)),
                element=tensors[0].element if len({value.element for value in tensors}) == 1 else (),
                multiples=frozenset(name for value in tensors for name in value.multiples),
                op=op,
                operands=[Operand(None, value) for value in tensors],
                cheap=True,
                depth=self.depth,
            )
        kinds = {value.kind for value in values}
        if kinds == {Kind.TUPLE} and len({len(value.items) for value in values}) == 1:
            columns = zip(*(value.items for value in values), strict=True)
            return Value(Kind.TUPLE, items=tuple(self.merge_values(list(column), op) for column in columns))
        if kinds <= {Kind.TUPLE, Kind.SCALAR} and Kind.TUPLE in kinds and all(map(_only_numbers, values)):
            # How many items there are is known when the kernel is launched, as with a tuple argument.
            return scalar()
        if len({id(value) for value in values}) == 1:
            return values[0]
        if kinds <= {Kind.SCALAR, Kind.CONSTEXPR, Kind.NONE} and Kind.SCALAR in kinds:
            factors = {value.factor for value in values if value.kind is Kind.SCALAR}
            pointers = tuple(dict.fromkeys(pointer for value in values for pointer in value.pointers))
            multiples = frozenset(name for value in values for name in value.multiples)
            return scalar(factors.pop() if len(factors) == 1 else strides.STRIDED, pointers, multiples)
        if kinds == {Kind.CONSTEXPR}:
            first = values[0]
            if all(value.known == first.known and value.dim == first.dim for value in values):
                return first
            return Value(Kind.CONSTEXPR)
        return values[0] if len(kinds) == 1 else opaque()

    # -- loops

    def _for(self, statement: cst.For) -> None:
        target = statement.target
        iterable = statement.iter
        static = False
        if isinstance(iterable, cst.Call):
            kind = self.iterator_kind(iterable)
            static = kind == "static_range"
            for argument in iterable.args:
                self.evaluate(argument.value)
            if static and self._unroll(statement, iterable):
                return
        else:
            kind = None
        if kind is None:
            value = self.evaluate(iterable)
            if value.kind is not Kind.TUPLE:
                raise Refusal("TP105", f"a loop over {self.code(iterable)}", iterable)
            for item in value.items:
                self.assign(target, item, None, keep_constexpr=True)
                self._block(statement.body)
            return
        index = Value(Kind.CONSTEXPR) if static else scalar(multiples=self._index_multiples(iterable))
        self._loop(
            statement, statement.body, lambda: self.assign(target, index, None, keep_constexpr=True), unrolled=static
        )
        if statement.orelse is not None:
            raise Refusal("TP105", "an else after a loop", statement.orelse)

    def _index_multiples(self, iterable: cst.BaseExpression) -> frozenset[str]:
        """Which arguments have to be multiples of 16 for a loop's index to be one: those of its start and its step."""
        if not isinstance(iterable, cst.Call):
            return frozenset()
        positional = [argument.value for argument in iterable.args if argument.keyword is None]
        found = [*(positional[:1] if len(positional) > 1 else []), *positional[2:3]]
        found += [
            argument.value
            for argument in iterable.args
            if argument.keyword is not None and argument.keyword.value == "step"
        ]
        values = [self.frame.values[node] for node in found if node in self.frame.values]
        return frozenset(name for value in values for name in value.multiples)

    def _loop(self, statement: cst.BaseStatement, body: cst.BaseSuite, head: Any, unrolled: bool = False) -> None:
        carried = [name for name in dict.fromkeys(assigned_names(body)) if name in self.environment]
        before = dict(self.environment)
        mark = len(self.frame.merges)
        self.depth += 1
        shapes: dict[str, Value] = {}
        try:
            for _ in range(MAX_ROUNDS):
                del self.frame.merges[mark:]
                self.environment = dict(before)
                phis: dict[str, Definition] = {}
                for name in carried:
                    phi = self._phi(name, [before[name]], statement)
                    if phi.value is before[name].value:
                        # What the end of the body shows of the name must not be said of it before the loop.
                        phi.value = replace(phi.value)
                    if name in shapes:
                        _adopt(phi.value, shapes[name])
                    phis[name] = phi
                    self.environment[name] = phi
                head()
                self._block(body)
                changed = False
                for name, phi in phis.items():
                    last = self.environment.get(name, phi)
                    if last is phi:
                        continue
                    phi.sources.append(last)
                    changed |= self._close(phi, last, shapes)
                if not changed:
                    break
        finally:
            self.depth -= 1
        # A name first bound in the body of a loop that runs on the GPU is not there after it; one that the compiler
        # unrolls is Python's own (`CodeGenerator.visit_For`).
        self.environment = {**(self.environment if unrolled else {}), **before, **phis}

    def _close(self, phi: Definition, last: Definition, shapes: dict[str, Value]) -> bool:
        """Tie the value at the end of a loop body to the one at its head; True where the head's kind was wrong."""
        merged = self.merge_values([phi.sources[0].value, last.value], "phi")
        if _alike(phi.value, merged):
            self._tie(phi.value, last.value)
            return False
        shapes[phi.name] = merged
        return True

    def _tie(self, head: Value, last: Value) -> None:
        if head.kind is Kind.TUPLE and last.kind is Kind.TUPLE:
            for first, second in zip(head.items, last.items, strict=False):
                self._tie(first, second)
        elif head.is_tensor and last.is_tensor and head is not last:
            head.operands.append(Operand(None, last, padding(last.rank, head.rank)))


def _adopt(value: Value, model: Value) -> None:
    """Give the head of a loop the kind that the end of its body showed."""
    value.kind, value.shape, value.strides = model.kind, model.shape, model.strides
    value.pointers, value.factor, value.dim, value.known = model.pointers, model.factor, model.dim, model.known
    value.element, value.multiples = model.element, model.multiples
    value.op = value.op or model.op
    if model.is_tensor:
        value.op, value.cheap = "phi", True
    if model.kind is Kind.TUPLE and not value.items:
        value.items = model.items
    for own, other in zip(value.items, model.items, strict=False):
        _adopt(own, other)


def _alike(left: Value, right: Value) -> bool:
    if left.kind is not right.kind or left.rank != right.rank:
        return False
    if left.kind is Kind.TUPLE:
        return len(left.items) == len(right.items) and all(
            _alike(a, b) for a, b in zip(left.items, right.items, strict=True)
        )
    if left.is_tensor:
        same_memory = left.strides == right.strides and left.pointers == right.pointers
        return left.shape == right.shape and same_memory and left.multiples == right.multiples
    same_number = left.factor == right.factor and left.known == right.known and left.multiples == right.multiples
    return left.pointers == right.pointers and same_number


def _only_numbers(value: Value) -> bool:
    """Whether a value is a scalar or a tuple of nothing but scalars and compile-time values."""
    numbers = (Kind.SCALAR, Kind.CONSTEXPR, Kind.NONE)
    return value.kind in numbers or (value.kind is Kind.TUPLE and all(map(_only_numbers, value.items)))


def _merge_strides(tensors: Iterable[Value]) -> tuple[strides.Stride, ...]:
    rows = [value.strides or (strides.UNKNOWN,) * value.rank for value in tensors]
    result = []
    for column in zip(*rows, strict=True):
        known = set(column)
        result.append(column[0] if len(known) == 1 else strides.UNKNOWN)
    return tuple(result)


def _name_of(node: cst.CSTNode) -> str:
    return type(node).__name__.lower()


__all__ = ["Interpreter", "constant"]
