"""Writing the refills of rings that are filled one iteration later."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.convert.names import Names
from tritonport.upgrade.edit import code, parsed, renamed
from tritonport.upgrade.mma.delay import Delay
from tritonport.upgrade.mma.spelling import names_assigned
from tritonport.upgrade.slices import read_names


class RefillWriter:
    """The statements of a loop's body that fill rings, for the places that are free one iteration later.

    Attributes:
        free: the variable that holds the place which the dot of the iteration before has read.
    """

    def __init__(self, delay: Delay, names: Names, module: cst.Module) -> None:
        self.delay = delay
        self.module = module
        self.free = names.fresh("free")
        stem = delay.rings[0].name.removesuffix("_ring")
        made = [name for place in delay.shared for name in sorted(names_assigned(delay.loop.body[place]))]
        self.names = {name: names.fresh(f"{name}_{stem}") for name in dict.fromkeys(made)}

    def first(self) -> str:
        """The place that is free in the first iteration: the last one, which nothing has filled yet."""
        return f"{self.free} = {self.delay.first}"

    def lines(self, place: int, carried: Sequence[str] = ()) -> list[cst.BaseStatement] | None:
        """What stands for a statement of the body; None for one that has nothing to do with the refills.

        carried: more variables of which the next iteration needs the values of this one, `free_phase = phase`.
        """
        delay, statement = self.delay, self.delay.loop.body[place]
        if place in delay.refills:
            before = self._gathered() if place == delay.refills[0] else []
            swaps = {delay.slot: self.free, **self.names}
            return [*before, renamed(delay.nearer(statement), swaps)]
        if place in delay.own:
            if self.names and not self._is_kept(place):
                return []
            return [renamed(delay.nearer(statement), self.names)]
        if place == delay.advance:
            return [*(self.statement(line) for line in (f"{self.free} = {delay.slot}", *carried)), statement]
        return None

    def _gathered(self) -> list[cst.BaseStatement]:
        """Where other statements use the same numbers for their tiles: those of these refills, under their names."""
        if not self.names:
            return []
        places = sorted([*self.delay.shared, *(place for place in self.delay.own if not self._is_kept(place))])
        lines = (self.delay.nearer(self.delay.loop.body[place]) for place in places)
        return [
            renamed(line, self.names).with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace())
            for line in lines
        ]

    def _is_kept(self, place: int) -> bool:
        """Whether a statement stays where it is: it moves a pointer on."""
        statement = self.delay.loop.body[place]
        return bool(names_assigned(statement) & read_names(statement))

    def statement(self, text: str) -> cst.BaseStatement:
        """One statement from source text."""
        return parsed(text, self.module)


def shorter_wait(statement: cst.BaseStatement, depth: str) -> cst.BaseStatement:
    """`wait_group(NUM_BUFFERS - 2)` for `wait_group(NUM_BUFFERS - 1)`, and its comment."""
    text = code(statement).replace(f"{depth} - 1", f"{depth} - 2")
    made = cst.parse_statement(text + "\n")
    assert isinstance(made, cst.SimpleStatementLine) and isinstance(statement, cst.SimpleStatementLine)
    lines = []
    for line in statement.leading_lines:
        comment = line.comment
        if comment is not None:
            comment = comment.with_changes(
                value=comment.value.replace(f"the {depth} groups", f"the {depth} - 1 groups")
            )
        lines.append(line.with_changes(comment=comment))
    return statement.with_changes(body=made.body, leading_lines=lines)


__all__ = ["RefillWriter", "shorter_wait"]
