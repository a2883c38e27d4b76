"""Writing a loop that only adds up in tensor memory: its dot is started, and the one of the iteration before awaited.

Two mbarriers take turns, since two dots are under way for a moment: one that has just been started, and the one before
it, which is waited for. A counter of dots says which barrier a dot signals, in which phase, and whether it is the first
one that adds to its sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from tritonport.convert.names import Names
from tritonport.upgrade.edit import code, parsed
from tritonport.upgrade.mma.kept import Written, depth_check
from tritonport.upgrade.mma.memory import KeptInMemory
from tritonport.upgrade.mma.refills import RefillWriter
from tritonport.upgrade.mma.spelling import Dot, simple_assignment

MEMORY_HELPERS = ("dot_awaited", "dot_started", "tmem_empty", "tmem_sum")


class MemoryWriter:
    """Writes one loop anew.

    Attributes:
        used: the functions of the port that it calls.
        gl: what the file calls Gluon's language.
    """

    def __init__(
        self, plan: KeptInMemory, helpers: Mapping[str, str], gl: str, names: Names, module: cst.Module
    ) -> None:
        assert plan.delay is not None
        self.plan = plan
        self.delay = plan.delay
        self.helpers = helpers
        self.gl = gl
        self.module = module
        self.refills = RefillWriter(plan.delay, names, module)
        self.done = names.fresh("done")
        self.count = names.fresh("dots")
        self.place = code(plan.delay.prologues[0].node.target)
        self.used: set[str] = {"dot_awaited", "dot_started"}

    def write(self) -> Written:
        """What stands in the place of the loop, of the loops that fill its rings, and of its sums' first and last."""
        loop = self.plan.loop
        dots = {dot.place: dot for dot in self.plan.dots}
        body: list[cst.BaseStatement] = []
        for place, statement in enumerate(loop.body):
            written = self.refills.lines(place)
            if place in dots:
                body += self._started(dots[place], statement)
            else:
                body += [statement] if written is None else written
        body.append(self._statement(f"{self.count} += 1"))
        block = loop.node.body
        assert isinstance(block, cst.IndentedBlock)
        around = loop.node.with_changes(body=block.with_changes(body=body), leading_lines=[])
        found: Written = {loop.original: [*self._before(), around, *self._behind()]}
        for number, prologue in enumerate(self.delay.prologues):
            found[prologue.node] = [prologue.shorter(self.module)]
            if number == 0 and not self.delay.depth.isdigit():
                found[prologue.node].insert(0, depth_check(self.delay.depth, self.gl, self.module))
        for one in self.plan.sums:
            if one.zeros:
                found |= self._from_nothing(one.made, one.read)
        return found

    def _before(self) -> list[cst.BaseStatement]:
        first = self._statement(self.refills.first())
        lines = [
            f"# Two dots are under way for a moment, and signal these in turn.\n"
            f"{self.done} = {self.gl}.allocate_shared_memory({self.gl}.int64, [2, 1], mbarrier.MBarrierLayout())",
            self._each("init", ", count=1"),
            f"{self.count} = 0",
        ]
        made = [first, *(self._statement(line) for line in lines)]
        leading = self.plan.loop.node.leading_lines
        return [made[0].with_changes(leading_lines=leading), *made[1:]]

    def _behind(self) -> list[cst.BaseStatement]:
        return [self._statement(self._awaited()), self._statement(self._each("invalidate", ""))]

    def _each(self, what: str, more: str) -> str:
        return (
            f"for {self.place} in {self.gl}.static_range(2):\n"
            f"    mbarrier.{what}({self.done}.index({self.place}){more})"
        )

    def _awaited(self) -> str:
        return f"{self.helpers['dot_awaited']}({self.done}, {self.count} - 1)"

    def _started(self, dot: Dot, statement: cst.BaseStatement) -> list[cst.BaseStatement]:
        """The dot, which signals a barrier if it is the last one of its iteration, and the wait for those before."""
        is_last = dot is self.plan.dots[-1]
        assert isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Assign)
        done = f"{self.done}.index({self.count} & 1)" if is_last else "None"
        use_acc = f"{self.count} > 0" if self.plan.sum_of(dot).zeros else "True"
        given = [code(dot.left), code(dot.right), dot.target, done, f"use_acc={use_acc}"]
        if self._precision(dot):
            given.append(f"precision={self._precision(dot)}")
        call = cst.parse_expression(f"{self.helpers['dot_started']}({', '.join(given)})")
        lines: list[cst.BaseStatement] = [statement.with_changes(body=[statement.body[0].with_changes(value=call)])]
        if is_last:
            said = "that of the iteration before is" if len(self.plan.dots) == 1 else "those before it are"
            comment = f"# This one stays under way; {said} done then, and one place in the ring free."
            lines.append(self._statement(f"{comment}\n{self._awaited()}"))
        return lines

    @staticmethod
    def _precision(dot: Dot) -> str:
        """The precision that a dot names: `dot_as(a, b, acc, precision, True)`."""
        given: Sequence[cst.Arg] = dot.call.args
        return code(given[3].value) if len(given) > 3 else ""

    def _from_nothing(self, made: cst.BaseStatement, read: cst.BaseStatement | None) -> Written:
        """The statements around the loop for a sum that its first dot writes."""
        assert read is not None
        found: Written = {}
        for statement, helper, more in ((made, "tmem_empty", []), (read, "tmem_sum", [f"{self.count}"])):
            assigned = simple_assignment(statement)
            assert assigned is not None and isinstance(assigned[1], cst.Call)
            assert isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Assign)
            given = [*(code(one.value) for one in assigned[1].args), *more]
            call = cst.parse_expression(f"{self.helpers[helper]}({', '.join(given)})")
            found[statement] = [statement.with_changes(body=[statement.body[0].with_changes(value=call)])]
            self.used.add(helper)
        return found

    def _statement(self, text: str) -> cst.BaseStatement:
        return parsed(text, self.module)


__all__ = ["MEMORY_HELPERS", "MemoryWriter"]
