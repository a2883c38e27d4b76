"""The statements of a kernel: what names are bound to, on each path and where paths meet."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.expressions import Expressions
from tritonport.analysis.frame import Definition, Environment
from tritonport.analysis.merging import merge_values
from tritonport.analysis.operators import truth_of
from tritonport.analysis.strides import Stride, either
from tritonport.analysis.values import MISSING, Kind, Operand, Refusal, Value, none, scalar
from tritonport.analysis.written_out import chosen_element, chosen_shape, chosen_size, written_out
from tritonport.source.syntax import dotted


class Statements(Expressions):
    """Reads one block after the other into `environment`; a method that reads one is False where the path ends."""

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
        if isinstance(statement, (cst.For, cst.While)):
            self._loop(statement)
            return True
        raise Refusal("TP105", f"a {_name_of(statement)} statement in a kernel", statement)

    @abstractmethod
    def _loop(self, statement: cst.For | cst.While) -> None:
        """Read a loop."""

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
            value = self._held(value)
            definition = Definition(
                target.value, value, "assign", self.frame, self.depth, statement=target, expression=expression
            )
            self.environment[target.value] = self.frame.targets[target] = definition
            return
        if isinstance(target, (cst.Tuple, cst.List)):
            elements = [element.value for element in target.elements]
            if value.op == "choices":
                fitting = [item for item in value.items if item.kind is Kind.TUPLE and len(item.items) == len(elements)]
                if fitting:
                    value = merge_values(fitting, "return", self.depth) if len(fitting) > 1 else fitting[0]
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

    def _held(self, value: Value) -> Value:
        """A tuple that gets a name: what it holds is written once, in one layout, however often it is read."""
        if value.kind is Kind.TUPLE and value.items:
            return replace(value, items=tuple(map(self._held_item, value.items)))
        return value

    def _held_item(self, item: Value) -> Value:
        if not item.is_tensor or not item.cheap:
            return self._held(item)
        return Value(
            Kind.TENSOR,
            shape=item.shape,
            strides=item.strides,
            pointers=item.pointers,
            op="held",
            operands=[Operand(None, item)],
            depth=self.depth,
            element=item.element,
            multiples=item.multiples,
        )

    # -- paths that meet

    def _if(self, statement: cst.If) -> bool:
        test = self.evaluate(statement.test)
        truth = truth_of(test)
        if truth is True:
            return self._block(statement.body)
        if truth is False:
            return self._orelse(statement.orelse)
        before = dict(self.environment)
        decided = test.kind is Kind.CONSTEXPR
        text = written_out(statement.test, self.frame) if decided else None
        with self.places.arm((self.frame, statement), True, text) if decided else self.places.block():
            then_goes_on = self._block(statement.body)
        then = self.environment
        self.environment = dict(before)
        with self.places.arm((self.frame, statement), False, text) if decided else self.places.block():
            else_goes_on = self._orelse(statement.orelse)
        otherwise = self.environment
        if then_goes_on and else_goes_on:
            self.environment = self._merge(then, otherwise, statement, statement.test if decided else None)
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
            merged[name].decided = test is not None
            value = merged[name].value
            value.choice = test is not None and value.op == "phi"
            if test is not None and value.choice and value.is_tensor:
                value.shape = chosen_shape(self.frame, test, value, first.value, second.value)
                value.strides = self._chosen_strides(test, value, first.value, second.value)
            if test is not None and value.choice and not value.element:
                value.element = chosen_element(self.frame, test, first.value, second.value)
            if test is not None and value.kind is Kind.CONSTEXPR and value.dim is None:
                value.dim = chosen_size(self.frame, test, first.value.dim, second.value.dim)
        return merged

    def _chosen_strides(self, test: cst.BaseExpression, value: Value, yes: Value, no: Value) -> tuple[Stride, ...]:
        """The strides of what a compile-time argument of the kernel chooses: a flag may transpose a tile."""
        is_flag = isinstance(test, cst.Name) and test.value in self.frame.parameters and self.frame.caller is None
        if not is_flag or not len(yes.strides) == len(no.strides) == value.rank:
            return value.strides
        flag = self.code(test)
        return tuple(either(left, right, flag) for left, right in zip(yes.strides, no.strides, strict=True))

    def _phi(self, name: str, sources: list[Definition], node: cst.CSTNode) -> Definition:
        value = merge_values([source.value for source in sources], "phi", self.depth)
        definition = Definition(name, value, "phi", self.frame, self.depth, sources=sources, statement=node)
        self.frame.merges.append(definition)
        return definition


def _name_of(node: cst.CSTNode) -> str:
    return type(node).__name__.lower()
