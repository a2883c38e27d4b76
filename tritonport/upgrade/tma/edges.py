"""Whether rows that a copy fills with zero, and the pointers with other rows again, are never stored.

`offs = (start + i) % M` reads rows from the front again beyond the end; the rows of the result that they give are
masked at the store. A descriptor gives zeros there. Both are the same program if what is computed from such a row
reaches memory only through stores that leave the row out: which dimension of each value depends on the row is
followed through elementwise operations, casts, broadcasts, dots and functions that are made of these; anything else is
no proof.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import libcst as cst

from tritonport.analysis.access import Access, Form, Mask
from tritonport.analysis.access.forms import ALWAYS, plus
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import called, is_dot
from tritonport.upgrade.liveness import live_at_end, live_behind
from tritonport.upgrade.tma.boxes import Box

Rows = frozenset[int]
NONE: Rows = frozenset()
ELEMENTWISE = frozenset(
    {"where", "maximum", "minimum", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "fma", "sigmoid", "tanh",
     "erf", "cos", "sin", "floor", "ceil", "cast", "to", "convert_layout", "clamp"}
)  # fmt: skip
"""Functions that compute each element for itself, in whatever layout."""
_TURNED = frozenset({"permute", "trans"})
_KINDS = frozenset({"dtype", "shape", "type"})
_STAGING = frozenset({"dot_operand", "operand_smem", "staged", "exact_smem"})
_SUMS = frozenset({"tmem_alloc", "tmem_load", "tmem_store"})
"""Functions of the port that move a sum into tensor memory and out of it, as it is."""
_DEPTH = 4
"""How deep calls of functions are followed."""


class NotShown(Exception):
    """Where a row may reach memory, in words."""


def unseen(access: Access, box: Box, accesses: Sequence[Access], kernel: Kernel) -> str | None:
    """Why the rows beyond the bound of a wrapped or clamped coordinate may be seen; None where they are not."""
    if access.kind != "load" or not access.target:
        return "its coordinate wraps or stops at a bound, and the load has no name by which to follow it"
    for place in box.bent:
        side = box.inner[place]
        problem = _Follower(kernel, accesses).problem(access, place, plus(side.coordinate, side.extents[0].size, -1))
        if problem is not None:
            return problem
    return None


def _unreached(access: Access, kernel: Kernel) -> frozenset[int]:
    """The blocks that no program comes to behind a load, by identity: of an `if` around it and around its loops, the
    branches that it does not stand in."""
    found: set[int] = set()
    again = {id(node) for loop in access.loops for node in walk(loop.node)}
    for node in walk(kernel.node.body):
        if not isinstance(node, cst.If) or id(node) in again:
            continue
        inside = [
            any(one is access.node for one in walk(part)) for part in (node.body, node.orelse) if part is not None
        ]
        if inside[0] and isinstance(node.orelse, cst.If):
            found |= {id(one.body) for one in walk(node.orelse) if isinstance(one, (cst.If, cst.Else))}
        elif inside[0] and node.orelse is not None:
            found.add(id(node.orelse.body))
        elif len(inside) == 2 and inside[1]:
            found.add(id(node.body))
    return frozenset(found)


class _Follower:
    """Follows one dimension of one load through a kernel."""

    def __init__(self, kernel: Kernel, accesses: Sequence[Access], depth: int = 0) -> None:
        self.kernel, self.depth = kernel, depth
        self.accesses = {id(one.node): one for one in accesses}
        self.rows: dict[str, Rows] = {}
        self.unreached: frozenset[int] = frozenset()

    def problem(self, access: Access, place: int, distance: Dim) -> str | None:
        """distance: coordinate - extent, where the rows begin to be others."""
        self.load, self.place, self.distance = access, place, distance
        self.unreached = _unreached(access, self.kernel)
        try:
            self._whole()
            self._check_iterations()
        except NotShown as error:
            return f"its coordinate wraps or stops at a bound, and {error}"
        return None

    def _whole(self) -> None:
        """Everything that the body does, loops and all."""
        changed = True
        while changed:
            before = dict(self.rows)
            self._block(self.kernel.node.body)
            changed = before != self.rows

    def _block(self, body: cst.BaseSuite) -> None:
        if id(body) in self.unreached:
            return
        for statement in body.body:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self._small(small)
            elif isinstance(statement, cst.If):
                self._untouched(statement.test, "an if")
                self._block(statement.body)
                orelse = statement.orelse
                if isinstance(orelse, cst.If):
                    self._block(cst.IndentedBlock([orelse]))
                elif orelse is not None:
                    self._block(orelse.body)
            elif isinstance(statement, cst.For):
                self._untouched(statement.iter, "the bounds of a loop")
                self._block(statement.body)
            elif isinstance(statement, cst.While):
                self._untouched(statement.test, "the condition of a loop")
                self._block(statement.body)

    def _check_iterations(self) -> None:
        """Where the rows are others in each iteration of a loop, none of them is there in another or behind the loop:
        the masks of the stores name those of their own iteration."""
        for loop in self.load.loops:
            changing = {loop.target, *assigned_names(loop.node)}
            atoms = [atom for atom in self.distance.atoms() for atom in (atom, self.load.origins.get(atom, ""))]
            if not any(re.search(rf"\b{re.escape(name)}\b", atom) for name in changing for atom in atoms if name):
                continue
            function = self.kernel.node
            kept = live_at_end(function, loop.node) | live_behind(function, loop.node)
            for name in sorted(kept):
                if self.rows.get(name):
                    raise NotShown(
                        f"{name} keeps its rows from one iteration over {loop.target or 'a loop'} to another"
                    )

    def _untouched(self, node: cst.BaseExpression, what: str) -> None:
        # What a tile is (`a.dtype`) is no row of it.
        kinds = {id(one.value) for one in walk(node) if isinstance(one, cst.Attribute) and one.attr.value in _KINDS}
        names = (one for one in walk(node) if isinstance(one, cst.Name) and id(one) not in kinds)
        if any(self.rows.get(one.value) for one in names):
            raise NotShown(f"{what} depends on it")

    def _small(self, small: cst.BaseSmallStatement) -> None:
        if isinstance(small, cst.Expr):
            self._value(small.value)
        elif isinstance(small, cst.Assign):
            found = self._value(small.value)
            for target in small.targets:
                self._assign(target.target, found)
        elif isinstance(small, (cst.AnnAssign, cst.AugAssign)) and small.value is not None:
            self._assign(small.target, self._value(small.value))
        elif isinstance(small, cst.Return) and small.value is not None:
            self._return(self._value(small.value))

    def _return(self, found: Rows) -> None:
        if found:
            raise NotShown("it is returned")

    def _assign(self, target: cst.BaseExpression, found: Rows) -> None:
        if isinstance(target, cst.Name):
            self.rows[target.value] = self.rows.get(target.value, NONE) | found
        elif found:
            raise NotShown("it is one of several results")

    # -- values: which dimensions, counted from the last (-1), depend on the row

    def _value(self, node: cst.BaseExpression) -> Rows:
        if isinstance(node, cst.Name):
            return self.rows.get(node.value, NONE)
        if isinstance(node, cst.BinaryOperation):
            return self._value(node.left) | self._value(node.right)
        if isinstance(node, cst.UnaryOperation):
            return self._value(node.expression)
        if isinstance(node, cst.Comparison):
            return self._value(node.left).union(*(self._value(one.comparator) for one in node.comparisons))
        if isinstance(node, cst.Attribute):
            return NONE if node.attr.value in _KINDS else self._elsewhere(node)
        if isinstance(node, cst.Subscript):
            return self._subscript(node)
        if isinstance(node, cst.Call):
            return self._call(node)
        return self._elsewhere(node)

    def _elsewhere(self, node: cst.CSTNode) -> Rows:
        if any(self.rows.get(one.value) for one in walk(node) if isinstance(one, cst.Name)):
            raise NotShown(f"it reaches `{cst.Module([]).code_for_node(node).strip()}`")
        return NONE

    def _subscript(self, node: cst.Subscript) -> Rows:
        found = self._value(node.value)
        if not found:
            return NONE
        # New dimensions behind a dimension move it away from the end.
        result: set[int] = set()
        kept = 0
        for offset, element in enumerate(reversed(node.slice)):
            index = element.slice
            if isinstance(index, cst.Slice):
                kept += 1
                if -kept in found:
                    result.add(-1 - offset)
            elif (
                not isinstance(index, cst.Index) or not isinstance(index.value, cst.Name) or index.value.value != "None"
            ):
                return self._elsewhere(node)
        return frozenset(result)

    def _call(self, node: cst.Call) -> Rows:
        access = self.accesses.get(id(node))
        if access is not None:
            return self._access(access, node)
        name = called(node)
        values = [self._value(argument.value) for argument in node.args]
        if isinstance(node.func, cst.Attribute) and name in ELEMENTWISE:
            receiver = self._value(node.func.value) if not self._is_language(node.func.value) else NONE
            values.append(receiver)
        if name in _TURNED and (turned := self._turned(node, values)) is not None:
            return turned
        if not any(values):
            return self._elsewhere(node.func) if isinstance(node.func, cst.Attribute) else NONE
        if name in ELEMENTWISE or name in _SUMS:
            return NONE.union(*values)
        if name in _STAGING:
            return values[0]
        if is_dot(node) and len(values) >= 2:
            return self._dot(values)
        return self._function(node, values)

    def _turned(self, node: cst.Call, values: Sequence[Rows]) -> Rows | None:
        """The dimensions of a permuted value: `permute(x, (1, 0))`, `x.permute((1, 0))`, `trans(x)`; None where the
        order is not spelled."""
        is_method = isinstance(node.func, cst.Attribute) and not self._is_language(node.func.value)
        found = self._value(node.func.value) if is_method and isinstance(node.func, cst.Attribute) else values[0]
        orders = [one.value for one in node.args[0 if is_method else 1 :]]
        if not orders and called(node) == "trans":
            order = [1, 0]
        elif len(orders) == 1 and isinstance(orders[0], (cst.Tuple, cst.List)):
            numbers = [one.value for one in orders[0].elements]
            if not all(isinstance(one, cst.Integer) for one in numbers):
                return None
            order = [int(one.value) for one in numbers if isinstance(one, cst.Integer)]
        else:
            return None
        rank = len(order)
        return frozenset(order.index(row + rank) - rank for row in found if row + rank in order)

    def _function(self, node: cst.Call, values: Sequence[Rows]) -> Rows:
        """What a call of a jit function returns, by what its body does with each argument."""
        path = dotted(node.func) or ""
        own = path.partition(".")[0] in {*(one.name for one in self.kernel.parameters), *self.rows}
        meanings = [one.kernel for one in self.kernel.module.lookup(path)] if path and not own else []
        if not meanings or self.depth == _DEPTH or any(argument.star for argument in node.args):
            return self._elsewhere(node)
        found = NONE
        for callee in meanings:
            names = [one.name for one in callee.parameters] if callee is not None else []
            if callee is None or len(values) > len(names) or any(one.star for one in callee.parameters):
                return self._elsewhere(node)
            given = {
                argument.keyword.value if argument.keyword is not None else name: rows
                for argument, name, rows in zip(node.args, names, values, strict=False)
            }
            try:
                found |= _Called(callee, given, self.depth + 1).result()
            except NotShown as error:
                text = self.kernel.module.tree.code_for_node(node).strip()
                raise NotShown(f"in `{text}` {error}") from None
        return found

    def _is_language(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Name) and node.value in self.kernel.module.bindings.imported

    def _dot(self, values: Sequence[Rows]) -> Rows:
        left, right = values[0], values[1]
        if -1 in left or -2 in right:
            raise NotShown("a dot sums over it")
        rest = NONE.union(*values[2:])
        return left | right | rest

    def _access(self, access: Access, node: cst.Call) -> Rows:
        if access is self.load:
            assert isinstance(access.address, Form)
            return frozenset({self.place - access.address.rank})
        if access.kind == "load":
            return self._elsewhere(node)
        values = {
            (argument.keyword.value if argument.keyword is not None else ("pointer", "value", "mask")[place]): argument
            for place, argument in enumerate(node.args)
            if argument.keyword is not None or place < 3
        }
        for name, argument in values.items():
            if name != "value":
                self._elsewhere(argument.value)
        found = self._value(values["value"].value) if "value" in values else NONE
        for row in found:
            if access.kind != "store" or not _leaves_out(access, row, self.distance):
                raise NotShown(f"the {access.kind} to {access.base or 'memory'} may write it")
        return NONE


class _Called(_Follower):
    """Follows the arguments of one call through a function, which has no access that may read or write a row."""

    def __init__(self, kernel: Kernel, rows: Mapping[str, Rows], depth: int) -> None:
        super().__init__(kernel, (), depth)
        self.rows.update(rows)
        self.returned = NONE

    def result(self) -> Rows:
        """Which dimensions of what it returns depend on the row. Raises NotShown."""
        self._whole()
        return self.returned

    def _return(self, found: Rows) -> None:
        self.returned |= found


def _leaves_out(store: Access, row: int, distance: Dim) -> bool:
    """Whether the mask of a store is false in the rows that begin where `coordinate + i - extent` is zero."""
    mask = store.mask or Mask()
    if not isinstance(store.address, Form):
        return False
    for condition in mask.conditions:
        held = [place for place, axis in enumerate(condition.form.axes) if axis is not None]
        if (
            condition.operator != "<"
            or condition.when != ALWAYS
            or len(held) != 1
            or held[0] - condition.form.rank != row
        ):
            continue
        axis = condition.form.axes[held[0]]
        assert axis is not None
        same = plus(condition.form.offset, condition.bound.offset, -1) == distance
        if same and axis.stride.value == 1 and not axis.bent:
            return True
    return False


__all__ = ["ELEMENTWISE", "unseen"]
