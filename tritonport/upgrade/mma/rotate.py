"""Writing a loop whose last dot runs under the next iteration: first iteration, steady state, last dot.

The order of floating-point operations stays: the dot of an iteration is awaited before the next one's rescaling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from tritonport.convert.names import Names
from tritonport.source.syntax import bare_call
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.edit import Node, code, parsed, renamed
from tritonport.upgrade.mma.extract import Extracted, extracted
from tritonport.upgrade.mma.kept import Written, depth_check
from tritonport.upgrade.mma.plan import Rotated
from tritonport.upgrade.mma.refills import RefillWriter
from tritonport.upgrade.mma.rings import indexed
from tritonport.upgrade.mma.spelling import (
    awaited_text,
    names_assigned,
    simple_assignment,
    started_call,
)
from tritonport.upgrade.slices import read_names
from tritonport.upgrade.tma.wide import Wide


class RotatedWriter:
    """Writes one loop anew.

    Attributes:
        extracted: what is computed between the dots, as a function; None where it is repeated.
    """

    def __init__(self, plan: Rotated, helpers: Mapping[str, str], gl: str, names: Names, module: cst.Module) -> None:
        self.plan = plan
        self.loop = plan.loop
        self.helpers = helpers
        self.gl = gl
        self.module = module
        self.refills = RefillWriter(plan.delay, names, module) if plan.delay is not None else None
        self.phase = names.fresh(f"{self.refills.free}_{plan.phase}") if plan.phase and self.refills else None
        self.operand = self._operand_name(names)
        self.between = self._between()
        name = names.fresh(f"{self.loop.function.name.value}_between_dots")
        self.extracted: Extracted | None = (
            extracted(self.loop, self.between, name, module) if self._is_one_piece() else None
        )

    def write(self) -> Written:
        """What stands in the place of the loop, and of the loops before it that fill its rings."""
        plan, loop = self.plan, self.loop
        before: list[cst.BaseStatement] = []
        if self.refills is not None:
            before = [self.refills.statement(self.refills.first())]
        head = self._statement(f"if {plan.start} < {plan.stop}:\n    pass")
        assert isinstance(head, cst.If)
        said = "# The first iteration, up to its last dot: that runs under the next iteration, and the last one alone."
        head = head.with_changes(
            leading_lines=[*loop.node.leading_lines, cst.EmptyLine(comment=cst.Comment(said))],
            body=cst.IndentedBlock([*self._first(), self._steady(), *self._last()]),
        )
        found: Written = {loop.original: [*before, head]}
        if plan.delay is not None:
            for place, prologue in enumerate(plan.delay.prologues):
                found[prologue.node] = [prologue.shorter(self.module)]
                if place == 0 and plan.shares_ring and not plan.delay.depth.isdigit():
                    found[prologue.node].insert(0, depth_check(plan.delay.depth, self.gl, self.module))
        return found

    # -- the three parts

    def _first(self) -> list[cst.BaseStatement]:
        lines = [self._statement(self._index())]
        for place in self._order():
            if place == self.plan.last.place:
                lines += self._operand()
            else:
                lines += self._plain(place)
        return [_without_blank_lines(line) for line in lines]

    def _index(self) -> str:
        """The loop's index in the first iteration, of the type that `range` makes of all its numbers: what follows from
        it here is carried into the loop."""
        loop, start = self.loop, self.plan.start
        kernel = next((one for one in loop.reader.module.kernels if one.node is loop.function), None)
        wide = Wide(kernel) if kernel is not None else None
        others = [cst.parse_expression(one) for one in (self.plan.stop, self.plan.step)]
        more = [code(one) for one in others if wide is not None and wide.may_be(one)]
        terms = [start] if start != "0" or not more else []
        terms += [f"0 * {one if one.isidentifier() else f'({one})'}" for one in more]
        said = "# Of the type of the loop's index.\n" if more else ""
        return f"{said}{loop.index} = {' + '.join(terms)}"

    def _steady(self) -> cst.BaseStatement:
        plan, loop = self.plan, self.loop
        first = loop.body[plan.first.place]
        awaited = False
        body: list[cst.BaseStatement] = []
        for place in self._order():
            if place == plan.first.place:
                body.append(self._assigned(plan.first.target, started_call(plan.first, self.helpers), first))
                body += self._moved(commented=True)
                body.append(self._started_last())
                done = cst.parse_expression(awaited_text(plan.first, 1, self.helpers))
                line: cst.BaseStatement = replaced(first, {plan.first.call: done})
                body.append(line.with_changes(leading_lines=[]))
                continue
            if not awaited and place in {*plan.rescales, plan.last.place}:
                said = "# The dot of the iteration before is done" + self._freed()
                done_text = awaited_text(plan.last, 0, self.helpers)
                body.append(self._statement(f"{said}\n{plan.last.target} = {done_text}"))
                awaited = True
            body += self._operand() if place == plan.last.place else self._plain(place)
        return self._around(body)

    def _around(self, body: Sequence[cst.BaseStatement]) -> cst.BaseStatement:
        """The loop from the second iteration on."""
        plan, loop = self.plan, self.loop
        start = plan.step if plan.start == "0" else f"{plan.start} + {plan.step}"
        given = [start, plan.stop, *([plan.step] if plan.step != "1" else [])]
        block = loop.node.body
        assert isinstance(block, cst.IndentedBlock)
        call = cst.parse_expression(f"range({', '.join(given)})")
        return loop.node.with_changes(iter=call, body=block.with_changes(body=body), leading_lines=[])

    def _last(self) -> list[cst.BaseStatement]:
        """The dot of the last iteration, when nothing is left to run beside it."""
        lines: list[cst.BaseStatement] = []
        if self.plan.copies:
            wait = next(
                line for line in self.loop.body if (call := bare_call(line)) and code(call.func).endswith("wait_group")
            )
            call = bare_call(wait)
            assert call is not None
            lines.append(self._statement(f"{code(call.func)}(0)"))
        statement = self.loop.body[self.plan.last.place]
        done = self._earlier(self._with_operand(statement))
        return [*lines, *self._moved(commented=False), done.with_changes(leading_lines=[])]

    # -- pieces

    def _plain(self, place: int) -> list[cst.BaseStatement]:
        """A statement that both the first iteration and the others have."""
        if place in self.plan.moved:
            return []
        if self.extracted is not None and place in self.between:
            return [self.extracted.call] if place == self.between[0] else []
        carried = [f"{self.phase} = {self.plan.phase}"] if self.phase is not None else []
        written = self.refills.lines(place, carried) if self.refills is not None else None
        return [self.loop.body[place]] if written is None else written

    def _moved(self, commented: bool) -> list[cst.BaseStatement]:
        """The waits and the views of the last dot's tiles, for the iteration before."""
        lines = [self._earlier(self.loop.body[place]) for place in sorted(self.plan.moved)]
        return lines if commented else [line.with_changes(leading_lines=[]) for line in lines]

    def _started_last(self) -> cst.BaseStatement:
        last = self.plan.last
        statement = self.loop.body[last.place]
        call = self._earlier(started_call(last, self.helpers))
        if self.operand is not None:
            call = replaced(call, {call.args[0].value: cst.Name(self.operand)})
        comment = f"# {last.target} gets what the iteration before has left."
        line = self._assigned(last.target, call, statement)
        return line.with_changes(leading_lines=[cst.EmptyLine(comment=cst.Comment(comment))])

    def _operand(self) -> list[cst.BaseStatement]:
        """What an iteration leaves for its last dot."""
        plan = self.plan
        if plan.operand is None or (isinstance(plan.operand, cst.Name) and plan.operand.value == self.operand):
            return []
        statement = self.loop.body[plan.last.place]
        assert isinstance(statement, cst.SimpleStatementLine)
        made = self._statement(f"{self.operand} = {code(self._typed(plan.operand))}")
        return [made.with_changes(leading_lines=statement.leading_lines)]

    def _typed(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """The left operand with the type of a tile that is not there yet asked of its ring."""
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        for one in walk(node):
            if isinstance(one, cst.Attribute) and isinstance(one.value, cst.Name):
                ring = self._ring_of(one.value.value)
                if ring is not None:
                    swaps[one.value] = cst.Name(ring)
        found: cst.BaseExpression = replaced(node, swaps)
        return found

    def _ring_of(self, name: str) -> str | None:
        """The ring that a tile of the last dot stands in; None for another variable."""
        made = (simple_assignment(self.loop.body[place]) for place in self.plan.moved)
        if all(one is None or one[0] != name for one in made):
            return None
        tile = self.loop.tile(cst.Name(name), self.plan.last.place)
        return tile.ring if tile is not None else None

    def _with_operand(self, statement: cst.BaseStatement) -> cst.BaseStatement:
        if self.operand is None:
            return statement
        found: cst.BaseStatement = replaced(statement, {self.plan.last.left: cst.Name(self.operand)})
        return found

    def _earlier(self, node: Node) -> Node:
        """A node that reads the place, and the phase, of the iteration before."""
        names = {self.plan.delay.slot: self.refills.free} if self.plan.delay and self.refills else {}
        if self.phase is not None and self.plan.phase is not None:
            names[self.plan.phase] = self.phase
        return renamed(node, names)

    # -- order

    def _order(self) -> list[int]:
        """The statements of an iteration; what works on the accumulator as late as possible, just before the dot."""
        plan = self.plan
        places = list(range(len(self.loop.body)))
        later = [place for place in places if max(plan.rescales, default=0) < place < plan.last.place]
        if not plan.rescales or not self._rescales_move(later):
            return places
        rest = [place for place in places if place not in plan.rescales]
        at = rest.index(plan.last.place)
        return [*rest[:at], *plan.rescales, *rest[at:]]

    def _rescales_move(self, later: Sequence[int]) -> bool:
        first = min(self.plan.rescales)
        read = set().union(*(read_names(self.loop.body[place]) for place in self.plan.rescales))
        between = [place for place in range(first, self.plan.last.place) if place not in self.plan.rescales]
        return not any(names_assigned(self.loop.body[place]) & read for place in [*between, *later])

    def _between(self) -> list[int]:
        """What is computed between the dots, the handling of tiles and of the accumulator left out."""
        plan = self.plan
        inner = list(range(plan.first.place + 1, plan.last.place))
        fills = {place for place in inner if bare_call(self.loop.body[place]) and indexed(self.loop.body[place])}
        served = self._served(inner, fills)
        out = {*plan.rescales, *plan.moved, *fills, *served}
        if self.refills is not None:
            out |= {*self.refills.delay.own, *self.refills.delay.shared, *self.refills.delay.refills}
        return [place for place in inner if place not in out]

    def _served(self, inner: Sequence[int], fills: set[int]) -> set[int]:
        """The statements before a refill that compute where it copies from."""
        needed = set().union(*(read_names(self.loop.body[place]) for place in fills), set())
        found: set[int] = set()
        for place in reversed(inner):
            if place < max(fills, default=0) and place not in fills and names_assigned(self.loop.body[place]) & needed:
                found.add(place)
                needed |= read_names(self.loop.body[place])
        return found

    def _is_one_piece(self) -> bool:
        """Whether nothing else stands among the statements between the dots."""
        if not self.between:
            return False
        order = self._order()
        places = [order.index(place) for place in self.between]
        inside = order[min(places) : max(places) + 1]
        return all(place in self.between or place in self.plan.moved for place in inside)

    # -- text

    def _operand_name(self, names: Names) -> str | None:
        operand = self.plan.operand
        if operand is None:
            return None
        places = self.loop.assignments(operand.value) if isinstance(operand, cst.Name) else []
        if isinstance(operand, cst.Name) and all(place > self.plan.first.place for place in places):
            return operand.value
        first = next((node.value for node in walk(operand) if isinstance(node, cst.Name)), "left")
        return names.fresh(f"{first}_operand")

    def _freed(self) -> str:
        return ", and its place in the ring free." if self.refills is not None else "."

    def _assigned(self, target: str, value: cst.BaseExpression, like: cst.BaseStatement) -> cst.BaseStatement:
        """`target = value` in the place of a statement, with its comments."""
        made = self._statement(f"{target} = x")
        assert isinstance(made, cst.SimpleStatementLine) and isinstance(like, cst.SimpleStatementLine)
        assert isinstance(made.body[0], cst.Assign)
        small = made.body[0].with_changes(value=value)
        return like.with_changes(body=[small])

    def _statement(self, text: str) -> cst.BaseStatement:
        return parsed(text, self.module)


def _without_blank_lines(statement: cst.BaseStatement) -> cst.BaseStatement:
    lines = getattr(statement, "leading_lines", ())
    return statement.with_changes(leading_lines=[line for line in lines if line.comment is not None])


__all__ = ["RotatedWriter"]
