"""Which tiles of a function become rings, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Loop
from tritonport.analysis.access.loops import read_loop
from tritonport.analysis.effects import acting
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.decided import decides
from tritonport.upgrade.edit import code
from tritonport.upgrade.facts import Facts
from tritonport.upgrade.guards import Guard, facts_of, put_apart
from tritonport.upgrade.liveness import live_at_end, live_behind
from tritonport.upgrade.multibuffer.aliases import Unknown, Uses, uses_of
from tritonport.upgrade.multibuffer.copies import Copies, Step
from tritonport.upgrade.multibuffer.counters import Counter, counter_of
from tritonport.upgrade.multibuffer.home import Home, home_of
from tritonport.upgrade.multibuffer.places import places_of
from tritonport.upgrade.multibuffer.ring_loop import Barrier, RingLoop
from tritonport.upgrade.multibuffer.steps import step_sign
from tritonport.upgrade.multibuffer.writes import conflict, may_run_ahead, writes_anything
from tritonport.upgrade.slices import NotSplit, Split, is_reckoned_with, names_of, split

STAYS = "TP303"


@dataclass(frozen=True, eq=False)
class Ring:
    """Tiles and barriers that become rings together, and the loops that use them.

    Attributes:
        carried: the loops that may begin anywhere in the ring, since other iterations have used it before.
    """

    kernel: Kernel
    loops: tuple[RingLoop, ...]
    home: Home
    counter: Counter
    carried: tuple[RingLoop, ...]


@dataclass(frozen=True, eq=False)
class Refused:
    """A copy that stays as it is."""

    kernel: Kernel
    call: cst.Call
    text: str


@dataclass(frozen=True)
class Plan:
    """What the stage does with one function."""

    kernel: Kernel
    rings: tuple[Ring, ...]
    refused: tuple[Refused, ...]

    def all_refused(self, text: str) -> Plan:
        """The plan of a function that stays as it is."""
        steps = (step for ring in self.rings for loop in ring.loops for one in loop.barriers for step in one.loads)
        left = [Refused(self.kernel, step.call, text) for step in steps]
        return Plan(self.kernel, (), (*self.refused, *left))


class _Refusal(Exception):
    """Why some barriers of a loop, or all, cannot become rings."""

    def __init__(self, text: str, barriers: Sequence[str] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.barriers = barriers


def plan_function(module: SourceModule, kernel: Kernel, copies: Copies) -> Plan:
    """The rings of a Gluon function."""
    return _Planner(module, kernel, copies).plan()


class _Planner:
    def __init__(self, module: SourceModule, kernel: Kernel, copies: Copies) -> None:
        self.module = module
        self.kernel = kernel
        self.copies = copies
        self.places = places_of(kernel.node)
        self.decided = decides(kernel)
        self.refused: list[Refused] = []

    def plan(self) -> Plan:
        found: list[RingLoop] = []
        for place in self.places.values():
            if isinstance(place.statement, (cst.For, cst.While)):
                loop = self._loop(place.statement)
                if loop is not None:
                    found.append(loop)
        rings = [ring for group in _groups(found) if (ring := self._ring(group)) is not None]
        return Plan(self.kernel, tuple(rings), tuple(self.refused))

    # -- one loop

    def _loop(self, node: cst.For | cst.While) -> RingLoop | None:
        lines = put_apart(node.body.body if isinstance(node.body, cst.IndentedBlock) else (), self._is_put_apart)
        body, guards = tuple(line for line, _ in lines), tuple(guard for _, guard in lines)
        steps = [step for place, line in enumerate(body) if (step := self.copies.step(place, line)) is not None]
        loads = [step for step in steps if step.tile and step.kind in ("load", "both")]
        self._refuse_hidden(node, steps)
        left: list[str] = []
        while True:
            used = [step for step in loads if step.barrier not in left]
            if not used:
                return None
            try:
                return self._read_loop(node, body, guards, steps, used)
            except _Refusal as refusal:
                out = [step for step in used if refusal.barriers is None or step.barrier in refusal.barriers]
                self._refuse(out, refusal.text)
                left += [step.barrier or "" for step in out]
                loads = [step for step in used if step not in out]

    def _is_put_apart(self, node: cst.If) -> bool:
        """Whether an `if` is decided when the kernel is compiled, and tiles are copied in it."""
        return self.decided(node.test) and any(self.copies.kind(call) for call in _outside_of_loops(node))

    def _refuse_hidden(self, node: cst.For | cst.While, steps: Sequence[Step]) -> None:
        """Copies of the loop that are no statement of its own."""
        own = {step.call for step in steps}
        for call in _outside_of_loops(node.body):
            if call in own or self.copies.kind(call) not in ("load", "both"):
                continue
            step = self.copies.step(0, cst.SimpleStatementLine([cst.Expr(call)]))
            if step is not None and step.tile:
                self.refused.append(Refused(self.kernel, call, "it stands under an if, or in a statement with others"))

    def _refuse(self, steps: Sequence[Step], text: str) -> None:
        self.refused += [Refused(self.kernel, step.call, text) for step in steps]

    def _read_loop(
        self,
        node: cst.For | cst.While,
        body: tuple[cst.BaseStatement, ...],
        guards: tuple[Guard, ...],
        steps: Sequence[Step],
        loads: Sequence[Step],
    ) -> RingLoop:
        loop = read_loop(node, ())
        upward = self._check_loop(loop)
        names = list(dict.fromkeys(step.barrier for step in loads))
        if None in names:
            raise _Refusal("its barrier is not a variable of its own", [None])  # type: ignore[list-item]
        groups = {name: [step for step in steps if step.barrier == name] for name in names if name is not None}
        facts = [facts_of(guard) for guard in guards]
        for name, group in groups.items():
            self._check_group(name, group)
            if len({facts[step.place] for step in group}) > 1:
                raise _Refusal(f"only some of the statements about {name} stand under an if", [name])
            if sum(isinstance(one, cst.Name) and one.value == name for one in walk(node)) != len(group):
                raise _Refusal(f"{name} is used in other ways in the loop", [name])
        tiles = {step.tile: step.barrier for step in loads if step.tile}
        if len(tiles) != len(loads):
            raise _Refusal("its tile is filled twice in an iteration")
        skipped = [step.place for group in groups.values() for step in group]
        try:
            uses = uses_of(self.module, body, tiles, skipped, facts)
        except Unknown as error:
            raise _Refusal(
                f"its tile is read in a way that may outlast the statement: {error.text}", [tiles[error.tile] or ""]
            ) from error
        self._check_uses(node, uses, tiles, groups)
        # What the loop writes keeps the tiles that are read from there, and no others.
        read = [(step.barrier, _code(step.given["tensor_desc"])) for step in loads]
        met = {
            name: conflict(self.module, self.kernel, node, [one for own, one in read if own == name])
            for name, _ in read
        }
        problem = next((one for one in met.values() if one is not None), None)
        if problem is not None:
            raise _Refusal(problem, [name or "" for name, one in met.items() if one == problem])
        found = [self._barrier(name, group, uses, facts) for name, group in groups.items()]
        return RingLoop(loop, body, guards, tuple(found), self._split(loop, body, facts, found), upward)

    def _check_loop(self, loop: Loop) -> bool:
        """Whether the loop counts upward."""
        if loop.kind not in ("range", "static_range"):
            raise _Refusal(f"its loop is a {loop.kind} loop, and only one over range can be pipelined")
        if not loop.target or loop.stop is None:
            raise _Refusal("its loop has no index or no upper bound")
        if loop.node.orelse is not None:
            raise _Refusal("its loop has an else")
        for inner in walk(loop.node.body):
            if isinstance(inner, (cst.Break, cst.Continue, cst.Return)):
                raise _Refusal(f"its loop may end early (`{type(inner).__name__.lower()}`)")
        changed = set(assigned_names(loop.node))
        if loop.step is not None and names_of(loop.step) & changed:
            raise _Refusal(f"the step {_code(loop.step)} of its loop changes in it")
        if loop.kind == "static_range" and any(names_of(one) & changed for one in (loop.start, loop.stop) if one):
            raise _Refusal("a bound of its loop changes in it")
        sign = step_sign(loop.step, self.module, self.kernel)
        if sign == 0:
            raise _Refusal(f"nothing shows that the step {_code(loop.step)} of its loop is positive")
        return sign > 0

    def _check_group(self, name: str, group: Sequence[Step]) -> None:
        expects = [step for step in group if step.kind in ("expect", "both")]
        waits = [step for step in group if step.kind == "wait"]
        loads = [step for step in group if step.tile]
        if len(expects) != 1 or len(waits) != 1:
            raise _Refusal(f"an iteration does not expect and await {name} once each", [name])
        if any(step.place < expects[0].place or step.place > waits[0].place for step in loads):
            raise _Refusal(f"its copy does not stand between the expect and the wait of {name}", [name])
        for step in group:
            if not step.pred:
                raise _Refusal(f"{_code(step.call.func)} begins it without a predicate, so also beyond the end", [name])
            said = step.given.get("pred")
            if said is not None and _code(said) != "True":
                raise _Refusal(f"it is under the condition {_code(said)}", [name])
        if waits[0].given.keys() - {"mbarrier", "phase", "pred"} or "phase" not in waits[0].given:
            raise _Refusal(f"the wait for {name} has arguments that the stage does not know", [name])
        if any("coord" not in step.given or "tensor_desc" not in step.given for step in loads):
            raise _Refusal("its arguments are not spelled one by one", [name])

    def _check_uses(
        self,
        node: cst.For | cst.While,
        uses: Uses,
        tiles: Mapping[str, str | None],
        groups: Mapping[str, Sequence[Step]],
    ) -> None:
        for tile, barrier in tiles.items():
            wait = next(step for step in groups[barrier or ""] if step.kind == "wait")
            if tile in uses.first and uses.first[tile] < wait.place:
                raise _Refusal(f"{tile} is read before the wait", [barrier or ""])
        live: dict[Facts, set[str]] = {}
        for name, found, facts in uses.at_end:
            if facts not in live:
                live[facts] = live_at_end(self.kernel.node, node, facts)
            if name in live[facts]:
                out = sorted({tiles[tile] or "" for tile in found})
                raise _Refusal(f"{name} may stand for its tile in the next iteration or behind the loop", out)

    @staticmethod
    def _barrier(name: str, group: Sequence[Step], uses: Uses, facts: Sequence[Facts]) -> Barrier:
        wait = next(step for step in group if step.kind == "wait")
        copies = tuple(step for step in group if step.kind != "wait")
        last = max([wait.place, *(uses.last.get(step.tile or "", 0) for step in copies)])
        return Barrier(name, copies, wait, last, facts[wait.place])

    def _split(
        self, loop: Loop, body: Sequence[cst.BaseStatement], facts: Sequence[Facts], barriers: Sequence[Barrier]
    ) -> Split:
        try:
            return self._split_around(loop, body, facts, barriers)
        except NotSplit as error:
            alone = [one.name for one in barriers if not self._can_split(loop, body, facts, one)]
            raise _Refusal(str(error), alone or None) from error

    def _can_split(
        self, loop: Loop, body: Sequence[cst.BaseStatement], facts: Sequence[Facts], barrier: Barrier
    ) -> bool:
        try:
            self._split_around(loop, body, facts, [barrier])
        except NotSplit:
            return False
        return True

    def _split_around(
        self, loop: Loop, body: Sequence[cst.BaseStatement], facts: Sequence[Facts], barriers: Sequence[Barrier]
    ) -> Split:
        needed: dict[int, list[cst.CSTNode]] = {}
        for step in (step for barrier in barriers for step in barrier.copies):
            own = {"barrier", "mbarrier", "result", "pred"}
            needed[step.place] = [argument.value for name, argument in step.given.items() if name not in own]
        writes = writes_anything(self.module, loop.node)

        def may_load(node: cst.CSTNode) -> bool:
            return not writes and may_run_ahead(self.module, node)

        found = split(body, needed, [], live_behind(self.kernel.node, loop.node), loop.target, may_load, facts)
        for place in found.ahead:
            function = acting(self.module, body[place]) if place not in needed else None
            if function is not None:
                raise NotSplit(f"its coordinates depend on {function}, which does more than compute a number")
        if loop.kind == "static_range":
            # What runs ahead has a number in the place of the constant that the index of an unrolled loop is.
            nodes = [part for place in found.ahead for part in needed.get(place, [body[place]])]
            if not all(is_reckoned_with(node, loop.target) for node in nodes):
                raise NotSplit(f"what it copies depends on {loop.target} by more than arithmetic, in an unrolled loop")
        return found

    # -- the loops that share tiles

    def _ring(self, loops: Sequence[RingLoop]) -> Ring | None:
        problem = self._ring_problem(loops)
        if isinstance(problem, Ring):
            return problem
        self._refuse([step for loop in loops for barrier in loop.barriers for step in barrier.loads], problem)
        return None

    def _ring_problem(self, loops: Sequence[RingLoop]) -> Ring | str:
        shared = {barrier.name for barrier in loops[0].barriers}
        tiles = {step.tile: step for barrier in loops[0].barriers for step in barrier.loads if step.tile}
        for loop in loops[1:]:
            found = {step.tile for barrier in loop.barriers for step in barrier.loads}
            if {barrier.name for barrier in loop.barriers} != shared or found != set(tiles):
                return "another loop uses some of the same tiles and barriers, but not all"
        nodes = [loop.loop.node for loop in loops]
        facts: dict[str, Facts] = {}
        for barrier in (one for loop in loops for one in loop.barriers):
            for name in (barrier.name, *(step.tile or "" for step in barrier.loads)):
                facts[name] = facts.get(name, barrier.facts) & barrier.facts
        home = home_of(self.module, self.kernel, self.places, nodes, sorted(shared), tiles, facts)
        if isinstance(home, str):
            return home
        carried = tuple(one for number, one in enumerate(loops) if number or self._is_repeated(one, home))
        counter = counter_of(self.kernel, self.places, loops, home, bool(carried))
        if isinstance(counter, str):
            return counter
        return Ring(self.kernel, tuple(loops), home, counter, carried)

    def _is_repeated(self, loop: RingLoop, home: Home) -> bool:
        """Whether a loop stands in another one, within the block in which its barriers begin."""
        place = self.places[loop.loop.node]
        outer = place.within(home.block)
        assert outer is not None
        around = [one for one in place.around if len(one.around) >= len(outer.around)]
        return any(isinstance(one.statement, (cst.For, cst.While)) for one in around)


def _groups(loops: Sequence[RingLoop]) -> list[list[RingLoop]]:
    """The loops by the tiles and barriers that they share."""
    groups: list[tuple[set[str], list[RingLoop]]] = []
    for loop in loops:
        names = {barrier.name for barrier in loop.barriers}
        names |= {step.tile or "" for barrier in loop.barriers for step in barrier.loads}
        same = [group for group in groups if group[0] & names]
        members = [one for group in same for one in group[1]]
        groups = [group for group in groups if group not in same]
        groups.append((names.union(*(group[0] for group in same)), [*members, loop]))
    return [members for _, members in groups]


def _outside_of_loops(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls below a node, but for those in loops inside of it."""
    inner = {id(item) for one in walk(node) if isinstance(one, (cst.For, cst.While)) for item in walk(one)}
    return (one for one in walk(node) if isinstance(one, cst.Call) and id(one) not in inner)


def _code(node: cst.CSTNode | None) -> str:
    if isinstance(node, cst.Arg):
        node = node.value
    return code(node)


__all__ = ["STAYS", "Plan", "Refused", "Ring", "plan_function"]
