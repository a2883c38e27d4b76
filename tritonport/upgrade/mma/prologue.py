"""The loops that fill rings before the first iteration, where the last place is left to the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.syntax import bare_call
from tritonport.source.walk import replaced
from tritonport.upgrade.dots import called
from tritonport.upgrade.edit import code
from tritonport.upgrade.mma.rings import LoopText, Refusal, Ring, indexed
from tritonport.upgrade.mma.spelling import names_assigned, one_line


@dataclass(frozen=True)
class PrologueLoop:
    """A `for i in gl.static_range(NUM_BUFFERS)` before the loop.

    Attributes:
        place: its index among the statements around the loop.
        delayed: its statements that fill the last place one iteration later, by their index in it.
        whole: whether it does nothing else.
    """

    node: cst.For
    place: int
    depth: str
    delayed: tuple[int, ...]
    whole: bool

    @property
    def lines(self) -> list[cst.BaseStatement]:
        """Its statements."""
        return _lines(self.node)

    def shorter(self, module: cst.Module) -> cst.For:
        """The loop without the last place of what is delayed."""
        less = str(int(self.depth) - 1) if self.depth.isdigit() else f"{self.depth} - 1"
        call = self.node.iter
        assert isinstance(call, cst.Call) and isinstance(self.node.body, cst.IndentedBlock)
        if self.whole:
            return self.node.with_changes(iter=replaced(call, {call.args[0].value: cst.parse_expression(less)}))
        lines = list(self.node.body.body)
        head = cst.parse_statement(f"if {code(self.node.target)} < {less}:\n    pass\n", module.config_for_parsing)
        assert isinstance(head, cst.If)
        guarded = head.with_changes(body=cst.IndentedBlock([lines[place] for place in self.delayed]))
        last = max(self.delayed)
        kept = [
            guarded if place == last else line for place, line in enumerate(lines) if place not in self.delayed[:-1]
        ]
        return self.node.with_changes(body=self.node.body.with_changes(body=kept))


def prologues(loop: LoopText, rings: Sequence[Ring], depth: str, carried: set[str]) -> tuple[PrologueLoop, ...]:
    """The loops that fill these rings at first.

    Raises:
        Refusal: a ring is not filled by a loop over its places.
    """
    names = {ring.name for ring in rings} | {ring.ready for ring in rings if ring.ready is not None}
    found: list[PrologueLoop] = []
    for place, statement in enumerate(loop.block[: loop.place]):
        if isinstance(statement, cst.For) and isinstance(statement.body, cst.IndentedBlock):
            made = _read(loop, statement, place, names, depth, carried)
            if made is not None:
                found.append(made)
    filled = {name for one in found for at in one.delayed for name in indexed(_lines(one.node)[at])}
    for ring in rings:
        if ring.name not in filled:
            raise Refusal(f"{ring.name} is not filled by a loop over static_range({depth}) before the loop")
    commits = sum(called(call) == "commit_group" for one in found for call in map(bare_call, _lines(one.node)) if call)
    if commits > 1:
        raise Refusal("its tiles are copied in several groups for each place")
    return tuple(found)


def _read(
    loop: LoopText, node: cst.For, place: int, names: set[str], depth: str, carried: set[str]
) -> PrologueLoop | None:
    lines = _lines(node)
    delayed: list[int] = []
    others = False
    for at, line in enumerate(lines):
        call = bare_call(line)
        if call is not None and loop.reader.is_hopper(call, "mbarrier.init"):
            others = True
        elif (call is not None and indexed(line) and indexed(line) <= names) or names_assigned(line) & carried:
            delayed.append(at)
        elif indexed(line) & names:
            raise Refusal(f"`{one_line(line)}` uses a tile before the loop")
        elif indexed(line):
            others = True
    if not any(indexed(lines[at]) for at in delayed):
        return None
    given = [code(one.value) for one in node.iter.args] if isinstance(node.iter, cst.Call) else []
    if not loop.reader.is_gl(node.iter, "static_range") or given != [depth]:
        raise Refusal(f"its ring is not filled by a loop over static_range({depth}) before the loop")
    return PrologueLoop(node, place, depth, tuple(delayed), not others)


def _lines(node: cst.For) -> list[cst.BaseStatement]:
    assert isinstance(node.body, cst.IndentedBlock)
    return list(node.body.body)


__all__ = ["PrologueLoop", "prologues"]
