"""Filling a ring again before the dot, where the dot reads both of its operands from registers.

Behind the dot a copy begins when the tensor cores are done. On an H200 the product of int8 weights in the fixture
int8_matmul (4096 x 4096 x 4096, 16 x 64 x 64) takes 1015 to 1024 us that way and 980 to 989 with both copies before the
dot; Triton's own order takes 984 to 993.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.walk import assigned_names
from tritonport.upgrade.async_copy.plan import Copy, LoopPlan
from tritonport.upgrade.slices import names_of


@dataclass(frozen=True)
class EarlyRefill:
    """The dot of a loop, one of whose operands is a tile that is cast (`copy`).

    Attributes:
        place: the index of its statement in the loop's body.
        target: the name that it is assigned to.
    """

    copy: Copy
    place: int
    target: str


def early_refill(plan: LoopPlan) -> EarlyRefill | None:
    """The dot before which a ring may be filled again; None where tiles of it are read by anything behind that dot.

    What is read before the dot has been read. What the dot reads beside the tile that is cast goes through
    `operand_beside`, into registers too.
    """
    cast = [copy for copy in plan.copies if copy.widened is not None]
    if len(cast) != 1 or cast[0].widened is None:
        return None
    dot = cast[0].widened.dot
    for place, line in enumerate(plan.body):
        target = _assigned(line, dot)
        if target is not None:
            tiles = _made_of({copy.access.target for copy in plan.copies}, plan.body[:place])
            behind = plan.body[place + 1 :]
            read = names_of(dot.args[2].value).union(*map(names_of, behind))
            return None if read & tiles else EarlyRefill(cast[0], place, target)
    return None


def _assigned(line: cst.BaseStatement, dot: cst.Call) -> str | None:
    """The name that a statement assigns a dot to, if it does that alone."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or small.value is not dot or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    return target.value if isinstance(target, cst.Name) else None


def _made_of(names: set[str], lines: Sequence[cst.BaseStatement]) -> set[str]:
    """Those names, and all that lines make of them: views of the same memory among them."""
    found = set(names)
    for line in lines:
        if names_of(line) & found:
            found |= set(assigned_names(line))
    return found


__all__ = ["EarlyRefill", "early_refill"]
