"""Writing a chain of dots that adds up in tensor memory: its last dot runs under the next iteration.

As for Hopper's instructions, but the two dots signal an mbarrier each, the first one's product and the left operand of
the last one have places in tensor memory that outlive the iteration, and the product is loaded when it is there.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tritonport.convert.names import Names
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.mma.memory import RotatedInMemory
from tritonport.upgrade.mma.rotate import RotatedWriter

CHAIN_HELPERS = ("dot_started", "operand_kept", "operand_renewed", "product_tmem", "tmem_load")


class MemoryChainWriter(RotatedWriter):
    """Writes one loop anew.

    Attributes:
        used: the functions of the port that it calls.
    """

    def __init__(
        self, plan: RotatedInMemory, helpers: Mapping[str, str], gl: str, names: Names, module: cst.Module
    ) -> None:
        super().__init__(plan, helpers, gl, names, module)
        first, last = plan.first.target, plan.last.target.removesuffix("_tmem")
        self.product = names.fresh(f"{first}_tmem")
        self.started = names.fresh(f"{first}_started")
        self.done = {"first": names.fresh(f"{first}_done"), "last": names.fresh(f"{last}_done")}
        self.count = names.fresh("dots")
        self.peeled = True
        self.used = {*CHAIN_HELPERS} if self.operand is not None else {"dot_started", "product_tmem", "tmem_load"}

    # -- the three parts

    def _first(self) -> list[cst.BaseStatement]:
        both = self.done.values()
        allocated = f"{self.gl}.allocate_shared_memory({self.gl}.int64, [1], mbarrier.MBarrierLayout())"
        made = [*(f"{one} = {allocated}" for one in both), *(f"mbarrier.init({one}, count=1)" for one in both)]
        lines = super()._first()
        self.peeled = False
        return [*map(self._statement, made), *lines, self._statement(f"{self.count} = 1")]

    def _steady(self) -> cst.BaseStatement:
        plan = self.plan
        awaited = False
        body: list[cst.BaseStatement] = []
        for place in self._order():
            if place == plan.first.place:
                body += self._both_started()
                continue
            if not awaited and place in {*plan.rescales, plan.last.place}:
                said = "# The dot of the iteration before is done" + self._freed()
                body.append(self._statement(f"{said}\n{self._wait('last', f'({self.count} - 1) & 1')}"))
                awaited = True
            body += self._operand() if place == plan.last.place else self._plain(place)
        body.append(self._statement(f"{self.count} += 1"))
        return self._around(body)

    def _both_started(self) -> list[cst.BaseStatement]:
        """The first dot, the last one of the iteration before behind it, and the first one's product."""
        started, loaded = self._product()
        wait = self._statement(self._wait("first", f"{self.count} & 1"))
        return [started, *self._moved(commented=True), self._started_last(), wait, loaded]

    def _product(self) -> tuple[cst.BaseStatement, cst.BaseStatement]:
        """The statement that starts the first dot, and the one that reads its product when it is there."""
        first, statement = self.plan.first, self.loop.body[self.plan.first.place]
        given = [code(first.left), code(first.right), self.product, self.done["first"], "use_acc=False"]
        started = cst.parse_expression(f"{self.helpers['dot_started']}({', '.join(given)})")
        layout = code(first.call.args[2].value)
        loaded = cst.parse_expression(f"{self.helpers['tmem_load']}({self.started}, {layout})")
        line: cst.BaseStatement = replaced(statement, {first.call: loaded})
        return self._assigned(self.started, started, statement), line.with_changes(leading_lines=[])

    def _started_last(self) -> cst.BaseStatement:
        last = self.plan.last
        left = self.operand if self.operand is not None else code(self._earlier(last.left))
        given = [left, code(self._earlier(last.right)), last.target, self.done["last"], "use_acc=True"]
        if len(last.call.args) > 3:
            given.append(f"precision={code(last.call.args[3].value)}")
        call = cst.parse_expression(f"{self.helpers['dot_started']}({', '.join(given)})")
        comment = f"# {last.target} gets what the iteration before has left."
        line = self._assigned(last.target, call, self.loop.body[last.place])
        return line.with_changes(leading_lines=[cst.EmptyLine(comment=cst.Comment(comment))])

    def _last(self) -> list[cst.BaseStatement]:
        closed = [self._statement(f"mbarrier.invalidate({one})") for one in self.done.values()]
        return [*closed, *super()._last()]

    # -- pieces

    def _plain(self, place: int) -> list[cst.BaseStatement]:
        """A statement of the first iteration or of the others; the first dot stands in the first iteration alone."""
        if place != self.plan.first.place:
            return super()._plain(place)
        given = [*(code(one.value) for one in self.plan.first.call.args[:3]), self.plan.last.target]
        given.append(self._operand_type())
        made = self._statement(f"{self.product} = {self.helpers['product_tmem']}({', '.join(given)})")
        started, loaded = self._product()
        return [made, started, self._statement(self._wait("first", "0")), loaded]

    def _operand_type(self) -> str:
        """The type of the left operand that the last dot reads: that of the right one."""
        last = self.plan.last
        tile = self.loop.tile(last.right, last.place)
        return f"{tile.ring if tile is not None else code(last.right)}.dtype"

    def _operand(self) -> list[cst.BaseStatement]:
        """What an iteration leaves for its last dot, in a place of its own."""
        plan = self.plan
        if plan.operand is None:
            return []
        statement = self.loop.body[plan.last.place]
        assert isinstance(statement, cst.SimpleStatementLine)
        value = code(self._typed(plan.operand))
        text = (
            f"{self.helpers['operand_kept']}({value}, {self.product})"
            if self.peeled
            else f"{self.helpers['operand_renewed']}({self.operand}, {value})"
        )
        return [self._statement(f"{self.operand} = {text}").with_changes(leading_lines=statement.leading_lines)]

    def _operand_name(self, names: Names) -> str | None:
        operand = self.plan.operand
        if operand is None:
            return None
        first = next((node.value for node in walk(operand) if isinstance(node, cst.Name)), "left")
        return names.fresh(f"{first}_operand")

    def _wait(self, which: str, phase: str) -> str:
        return f"mbarrier.wait({self.done[which]}, {phase})"


__all__ = ["CHAIN_HELPERS", "MemoryChainWriter"]
