"""The statements of a function, in order: which block pointer a name may be after each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tritonport.analysis.block_pointers.definitions import Definition, Place, joined
from tritonport.analysis.block_pointers.expressions import ExpressionReader
from tritonport.analysis.values import Refusal
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import children, target_names, walk


class Reader(ExpressionReader):
    """Follows the block pointers of one function. `given` are the parameters that are block pointers, with their ranks.

    `descriptors`: follow the tensor descriptors that the function makes, too.
    """

    def __init__(self, module: SourceModule, kernel: Kernel, given: dict[str, int], descriptors: bool = False) -> None:
        super().__init__(module, kernel, descriptors)
        self._number(kernel.node.body, ())
        for parameter in kernel.node.params.params:
            name = parameter.name.value
            self.environment[name] = frozenset()
            if name in given:
                made = Definition("parameter", Place(-1, ()), parameter, given[name], name=name)
                self.definitions[parameter] = made
                self.environment[name] = frozenset([made])
        self._suite(kernel.node.body)

    # -- places

    def _number(self, node: cst.CSTNode, loops: tuple[cst.CSTNode, ...]) -> None:
        for child in children(node):
            if isinstance(child, (cst.BaseSmallStatement, cst.If, cst.For, cst.While, cst.With)):
                inner = (*loops, child) if isinstance(child, (cst.For, cst.While)) else loops
                place = self.places[child] = Place(len(self.places), inner)
                for name in _bound(child):
                    self.assigned.setdefault(name, []).append(place)
                self._number(child, inner)
            elif isinstance(child, (cst.BaseSuite, cst.SimpleStatementLine, cst.Else)):
                self._number(child, loops)

    # -- statements

    def _suite(self, body: cst.BaseSuite) -> None:
        for statement in body.body:
            self._statement(statement)

    def _statement(self, statement: cst.CSTNode) -> None:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                self._statement(small)
            return
        if statement in self.places:
            self._place = self.places[statement]
        if isinstance(statement, cst.If):
            self._if(statement)
        elif isinstance(statement, (cst.For, cst.While)):
            self._loop(statement)
        elif isinstance(statement, cst.Assign):
            self._assign(statement)
        elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
            self._bind(statement.target, statement.value)
        elif isinstance(statement, cst.BaseSmallStatement):
            self.read(statement)
            self._plain(_bound(statement))

    def _plain(self, names: Iterable[str]) -> None:
        """Names that hold something else from here on."""
        for name in names:
            self.environment[name] = frozenset()

    def _if(self, statement: cst.If) -> None:
        self.read(statement.test)
        before = dict(self.environment)
        self._suite(statement.body)
        after = self.environment
        self.environment = before
        if isinstance(statement.orelse, cst.If):
            self._statement(statement.orelse)
        elif statement.orelse is not None:
            self._suite(statement.orelse.body)
        if _leaves(statement.body):
            return
        if statement.orelse is not None and not isinstance(statement.orelse, cst.If) and _leaves(statement.orelse.body):
            self.environment = after
            return
        self.environment = joined(after, self.environment)

    def _loop(self, statement: cst.For | cst.While) -> None:
        self.read(statement.iter if isinstance(statement, cst.For) else statement.test)
        for _ in range(3):
            before = dict(self.environment)
            if isinstance(statement, cst.For):
                self._plain(target_names(statement.target))
            self._suite(statement.body)
            self.environment = joined(before, self.environment)
            if self.environment == before:
                break
        self._place = self.places[statement]

    def _assign(self, statement: cst.Assign) -> None:
        if len(statement.targets) == 1:
            self._bind(statement.targets[0].target, statement.value)
            return
        if self.block(statement.value) is not None:
            raise Refusal(
                "TP110",
                f"the block pointer {self.code(statement.value)} is assigned to several names at once",
                statement,
            )
        self.read(statement.value)

    def _bind(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        pairs = tuple_pairs(target, value)
        if pairs is not None:
            made = [(inner, item, self.block(item)) for inner, item in pairs]
            moved = {inner.value for inner, _, found in made if found is not None and isinstance(inner, cst.Name)}
            for index, (inner, item, found) in enumerate(made):
                others = moved - ({inner.value} if isinstance(inner, cst.Name) else set())
                if moved and index and others & {name.value for name in walk(item) if isinstance(name, cst.Name)}:
                    raise Refusal("TP110", f"{self.code(value)} exchanges block pointers", value)
                self._bind_one(inner, item, found)
            return
        self._bind_one(target, value, self.block(value))

    def _bind_one(
        self, target: cst.BaseExpression, value: cst.BaseExpression, found: frozenset[Definition] | None
    ) -> None:
        if found is None:
            self.read(value)
            self._plain(target_names(target))
            return
        if not isinstance(target, cst.Name):
            raise Refusal("TP110", f"the block pointer {self.code(value)} is stored in {self.code(target)}", value)
        if isinstance(value, cst.Name):
            copy = self.definitions.get(value)
            if copy is None:
                rank = next(iter(found)).rank
                copy = self.definitions[value] = Definition("copy", self._place, value, rank, name=target.value)
            copy.sources |= found
            copy.padding = next(iter(found)).padding
            found = frozenset([copy])
        for definition in found:
            definition.name = target.value
        self.environment[target.value] = found


def tuple_pairs(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> list[tuple[cst.BaseExpression, cst.BaseExpression]] | None:
    """(name, value) of `a, b = x, y`."""
    if not isinstance(target, (cst.Tuple, cst.List)) or not isinstance(value, (cst.Tuple, cst.List)):
        return None
    if len(target.elements) != len(value.elements):
        return None
    return [(left.value, right.value) for left, right in zip(target.elements, value.elements, strict=True)]


def _bound(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.Assign):
        for target in node.targets:
            yield from target_names(target.target)
    elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.For)):
        yield from target_names(node.target)


def _leaves(body: cst.BaseSuite) -> bool:
    """Whether a suite ends with `return`: what it assigned is not seen below."""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], cst.Return)
    return isinstance(last, cst.Return)
