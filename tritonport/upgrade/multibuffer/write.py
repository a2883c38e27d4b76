"""Writing a ring: its allocation, the prologue, the steady state and the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import libcst as cst

from tritonport.convert.names import Names
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.bounds import Bounds, said_of_depth
from tritonport.upgrade.edit import parsed, renamed, spliced, with_arguments
from tritonport.upgrade.guards import Guard, put_together
from tritonport.upgrade.multibuffer.copies import Step
from tritonport.upgrade.multibuffer.home import Allocation, Signal
from tritonport.upgrade.multibuffer.narrowed import with_narrowed_loads
from tritonport.upgrade.multibuffer.plan import Ring
from tritonport.upgrade.multibuffer.ring_loop import Barrier, RingLoop
from tritonport.upgrade.multibuffer.schedule import refill_places
from tritonport.upgrade.multibuffer.steps import is_asserted
from tritonport.upgrade.slices import asks_for_more, made_anew, names_of

_TILE_ENDINGS = ("_tile", "_smem", "_buffer", "_buf")


def written(ring: Ring, module: SourceModule, gl: str, depth: str, taken: Iterable[str]) -> cst.FunctionDef:
    """The function of a ring with the ring in it.

    Args:
        gl: what the file calls the Gluon language.
        depth: the parameter that says how many tiles a ring has.
        taken: names that mean something in the file.
    """
    return _Writer(ring, module, gl, depth, taken).write()


class _Writer:
    def __init__(self, ring: Ring, module: SourceModule, gl: str, depth: str, taken: Iterable[str]) -> None:
        self.ring = ring
        self.source = module
        self.module = module.tree
        self.gl = gl
        self.depth = depth
        node = ring.kernel.node
        self.names = Names({*names_of(node), *taken, depth})
        self.counter = _counter(node, self.names)
        self.slot = self.names.fresh("slot")
        counter = ring.counter
        self.phase = counter.names[0] if counter.names else self.names.fresh("phase")
        self.rings = {tile: self.names.fresh(_ring_name(tile)) for tile in ring.home.tiles}

    def write(self) -> cst.FunctionDef:
        swaps: dict[cst.CSTNode, Sequence[cst.BaseStatement]] = {}
        self._allocations(swaps)
        self._signals(swaps, self.ring.home.inits.values(), at_end=True)
        self._signals(swaps, self.ring.home.invalidates.values(), at_end=False)
        self._counters(swaps)
        for loop in self.ring.loops:
            swaps[loop.loop.node] = _LoopWriter(self, loop).write()
        node = self.ring.kernel.node
        return node.with_changes(body=spliced(node.body, swaps))

    # -- before and behind the loops

    def _allocations(self, swaps: dict[cst.CSTNode, Sequence[cst.BaseStatement]]) -> None:
        home = self.ring.home
        for tile, allocation in home.tiles.items():
            swaps[allocation.place.statement] = [self._allocated(allocation, self.rings[tile])]
        for barrier, allocation in home.barriers.items():
            swaps[allocation.place.statement] = [self._allocated(allocation, barrier)]

    def _allocated(self, allocation: Allocation, name: str) -> cst.BaseStatement:
        line = allocation.place.statement
        assert isinstance(line, cst.SimpleStatementLine)
        if allocation.shape is None:
            call = allocation.call.with_changes(
                args=[cst.Arg(cst.Name(self.depth), keyword=cst.Name("batch"), equal=_EQUAL)]
            )
        else:
            call = replaced(allocation.call, {allocation.shape: cst.parse_expression(self._shape(allocation.shape))})
        small = cst.Assign([cst.AssignTarget(cst.Name(name))], call)
        return line.with_changes(body=[small])

    def _shape(self, tile: cst.BaseExpression) -> str:
        """That of a ring of such tiles."""
        if isinstance(tile, (cst.List, cst.Tuple)):
            return f"[{', '.join([self.depth, *(self.code(element.value) for element in tile.elements)])}]"
        return f"[{self.depth}] + {self.code(tile)}"

    def _signals(
        self, swaps: dict[cst.CSTNode, Sequence[cst.BaseStatement]], signals: Iterable[Signal], at_end: bool
    ) -> None:
        """The statements for one barrier each become one loop over the ring, where the last, or the first, stood."""
        found = sorted(signals, key=lambda one: (one.place.index, one.own.index))
        if not found:
            return
        body: list[tuple[cst.BaseStatement, Guard]] = []
        leading: list[cst.EmptyLine] = []
        for one in found:
            swaps[one.line] = []
            leading += one.line.leading_lines
            name = next(barrier for barrier in self.ring.home.barriers if barrier in _names(one.line))
            line = self.indexed(one.line, {name: f"{name}.index({self.counter})"}).with_changes(leading_lines=[])
            body.append((line, one.guard))
        loop = self.over_ring(put_together(body, bare=True)).with_changes(leading_lines=leading)
        chosen = found[-1 if at_end else 0]
        swaps[chosen.place.statement] = [*self._left(chosen, swaps), loop]

    @staticmethod
    def _left(signal: Signal, swaps: Mapping[cst.CSTNode, Sequence[cst.BaseStatement]]) -> Sequence[cst.BaseStatement]:
        """What is left of the `if` that a statement stands in; nothing without one."""
        node = signal.place.statement
        block = cst.IndentedBlock([node]) if isinstance(node, cst.If) else None
        return [one for one in spliced(block, swaps).body if isinstance(one, cst.BaseStatement)] if block else []

    def _counters(self, swaps: dict[cst.CSTNode, Sequence[cst.BaseStatement]]) -> None:
        if not self.ring.counter.inits:
            # No variable counts the phases that could become the ring's own.
            last = max(self.ring.home.inits.values(), key=lambda one: one.place.index).place.statement
            begun = (self.statement(f"{name} = 0") for name in (self.slot, self.phase))
            swaps[last] = [*swaps[last], *begun]
        for number, place in enumerate(self.ring.counter.inits):
            line = place.statement
            if number:
                swaps[line] = []
                continue
            assert isinstance(line, cst.SimpleStatementLine)
            first = self.statement(f"{self.slot} = 0").with_changes(leading_lines=line.leading_lines)
            swaps[line] = [first, line.with_changes(leading_lines=[])]

    # -- text

    def over_ring(self, body: Sequence[cst.BaseStatement]) -> cst.For:
        """A loop, unrolled, over the places of the ring."""
        loop = self.statement(f"for {self.counter} in {self.gl}.static_range({self.depth}):\n    pass")
        assert isinstance(loop, cst.For)
        return loop.with_changes(body=cst.IndentedBlock(list(body)))

    def indexed(self, node: cst.BaseStatement, names: Mapping[str, str]) -> cst.BaseStatement:
        """A statement with tiles and barriers replaced by their place in the ring."""
        return renamed(node, names)

    def code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node).strip()

    def statement(self, text: str) -> cst.SimpleStatementLine | cst.BaseCompoundStatement:
        return parsed(text, self.module)


class _LoopWriter:
    """Writes one loop of a ring anew."""

    def __init__(self, ring: _Writer, loop: RingLoop) -> None:
        self.ring = ring
        self.plan = loop
        self.names = ring.names
        self.index = loop.loop.target
        self.next = self.names.fresh(f"next_{self.index}")
        self.early = self.names.fresh(f"early_{self.index}")
        self.ahead = {name: self.names.fresh(f"next_{name}") for name in loop.split.renamed}
        self.barriers = {step.place: one for one in loop.barriers for step in one.copies}
        anew = made_anew(loop.body, loop.split.ahead, self.barriers, loop.facts)
        # Names of their own in the prologue: what is known before a loop and assigned in it would be carried by it.
        self.first = self.ahead | {name: self.names.fresh(f"early_{name}") for name in anew}

    def write(self) -> list[cst.BaseStatement]:
        """The statements in the place of the loop, the loop itself last."""
        node = self.plan.loop.node
        self.bounds = Bounds(self.plan.loop, self.plan.body, self.names, self.ring.module)
        step = self.plan.loop.step
        asserted = is_asserted(step, self.ring.source, self.ring.ring.kernel)
        lines = [f"{self.ring.gl}.static_assert({self.ring.code(step)} > 0)"] if asserted and step is not None else []
        lines += [*self.bounds.lines, *(f"{self.ahead[name]} = {name}" for name in self.plan.split.carried)]
        before: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = list(map(self.ring.statement, lines))
        before.append(self._prologue())
        kept = [line for line in node.leading_lines if line.comment is None or not said_of_depth(line.comment.value)]
        before[0] = before[0].with_changes(leading_lines=kept)
        return [*before, self._steady()]

    def _prologue(self) -> cst.For:
        counter, body = self.ring.counter, list[cst.BaseStatement]()
        slot, index = counter, counter
        if self.plan in self.ring.ring.carried:
            # Other iterations may have left off anywhere in the ring.
            slot = self.names.fresh("place")
            body.append(self.ring.statement(f"{slot} = ({self.ring.slot} + {counter}) % {self.ring.depth}"))
        first = self.bounds.index_of(counter)
        if first != counter or self._needs_tensor():
            index = self.early
            made = first if not self._needs_tensor() else f"{self.ring.gl}.to_tensor({first})"
            body.append(self.ring.statement(f"{index} = {made}"))
        more = f"{index} {self._before} {self.bounds.stop}"
        lines = [
            (self._ahead(place, index, slot, more, bare=True), self.plan.guards[place])
            for place in self.plan.split.ahead
        ]
        return self.ring.over_ring([*body, *put_together(lines, bare=True)])

    def _needs_tensor(self) -> bool:
        return asks_for_more(self.plan.body, self.plan.split.ahead, self.plan.loop, self.ring.ring.kernel)

    def _steady(self) -> cst.BaseStatement:
        use, split = self.ring, self.plan.split
        toggles = set(use.ring.counter.toggles)
        more = self.names.fresh("more")
        refills = refill_places(self.plan)
        begin = min(refills.values())
        lines: list[tuple[cst.BaseStatement, Guard]] = []
        numbers = [
            f"{self.next} = {self.bounds.after(self.index, use.depth)}",
            f"{more} = {self.next} {self._before} {self.bounds.stop}",
        ]
        for place, line in enumerate(self.plan.body):
            guard = self.plan.guards[place]
            if place in split.stays and line not in toggles:
                lines.append((self._staying(place, line), guard))
            if place == begin:
                # All launches need them: they stand before the `if` of the copy.
                at = next((at for at, one in enumerate(lines) if guard and one[1][:1] == guard[:1]), len(lines))
                lines[at:at] = [(use.statement(text), ()) for text in numbers]
            for earlier in (one for one in split.ahead if refills[one] == place):
                copy = self._ahead(earlier, self.next, use.slot, more, bare=False)
                lines.append((copy, self.plan.guards[earlier]))
        body = [*put_together(lines), *self._advance()]
        node = self.plan.loop.node
        block = node.body
        assert isinstance(block, cst.IndentedBlock)
        return node.with_changes(iter=self.bounds.iterator(), body=block.with_changes(body=body), leading_lines=[])

    @property
    def _before(self) -> str:
        return "<" if self.plan.upward else ">"

    def _advance(self) -> list[cst.BaseStatement]:
        # A counter takes fewer registers than the remainder of the index.
        use, last = self.ring, self.names.fresh("last")
        return [
            use.statement(f"{last} = {use.slot} == {use.depth} - 1"),
            use.statement(f"{use.phase} = {use.gl}.where({last}, {use.phase} ^ 1, {use.phase})"),
            use.statement(f"{use.slot} = {use.gl}.where({last}, 0, {use.slot} + 1)"),
        ]

    def _staying(self, place: int, line: cst.BaseStatement) -> cst.BaseStatement:
        use = self.ring
        tiles = {tile: f"{ring}.index({use.slot})" for tile, ring in use.rings.items()}
        for one in self.plan.barriers:
            if one.wait.place == place:
                phase = one.wait.given["phase"].value
                line = replaced(line, {phase: cst.Name(use.phase)})
                return use.indexed(line, {one.name: f"{one.name}.index({use.slot})"})
        return use.indexed(line, tiles)

    def _ahead(self, place: int, index: str, slot: str, more: str, bare: bool) -> cst.BaseStatement:
        """A statement that runs ahead, for the iteration `index`; `bare`: in the prologue, without comments."""
        line = self.plan.body[place]
        barrier = self.barriers.get(place)
        names = {**(self.first if bare else self.ahead), self.index: index}
        if bare or place in self.plan.split.stays:
            line = line.with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace())
        if barrier is None:
            return renamed(with_narrowed_loads(self.ring.source, line, more), names)
        step = next(one for one in barrier.copies if one.place == place)
        assert isinstance(line, cst.SimpleStatementLine)
        call = self._copy(step, barrier, names, slot, more)
        return line.with_changes(body=[cst.Expr(call)])

    def _copy(self, step: Step, barrier: Barrier, names: Mapping[str, str], slot: str, more: str) -> cst.Call:
        use = self.ring
        places = {barrier.name: f"{barrier.name}.index({slot})"}
        if step.tile:
            places[step.tile] = f"{use.rings[step.tile]}.index({slot})"
        call = renamed(step.call, {**names, **places})
        pred = cst.parse_expression(more)
        if "pred" in step.given:
            number = step.call.args.index(step.given["pred"])
            args = [one.with_changes(value=pred) if at == number else one for at, one in enumerate(call.args)]
            return call.with_changes(args=args)
        positional = step.pred_follows and all(argument.keyword is None for argument in call.args)
        added = cst.Arg(pred) if positional else cst.Arg(pred, keyword=cst.Name(step.pred), equal=_EQUAL)
        return with_arguments(call, [*call.args, added])


_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def _counter(node: cst.FunctionDef, names: Names) -> str:
    """A name for the place in the ring that unrolled loops count: one that the function has for nothing else."""
    for name in ("i", "j", "n"):
        counted = [one for one in walk(node.body) if isinstance(one, cst.For) and _counts_places(one, name)]
        inside = {id(item) for one in counted for item in walk(one)}
        others = [item for item in walk(node) if isinstance(item, cst.Name) and item.value == name]
        if all(id(item) in inside for item in others):
            names.taken.add(name)
            return name
    return names.fresh("i")


def _counts_places(loop: cst.For, name: str) -> bool:
    call = loop.iter
    unrolled = isinstance(call, cst.Call) and (dotted(call.func) or "").split(".")[-1] == "static_range"
    return unrolled and isinstance(loop.target, cst.Name) and loop.target.value == name


def _ring_name(tile: str) -> str:
    """`a_ring` for `a_tile`, `a_ring_2` for `a_tile_2`."""
    found = re.fullmatch(rf"(.+)(?:{'|'.join(_TILE_ENDINGS)})((?:_\d+)?)", tile)
    return f"{found[1]}_ring{found[2]}" if found is not None else f"{tile}_ring"


def _names(node: cst.CSTNode) -> set[str]:
    return {item.value for item in walk(node) if isinstance(item, cst.Name)}


__all__ = ["written"]
