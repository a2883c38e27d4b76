"""Writing a pipelined loop: the ring, the prologue, the steady state and the drain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from tritonport.convert.names import Names
from tritonport.source.walk import replaced
from tritonport.upgrade.async_copy.early import EarlyRefill, early_refill
from tritonport.upgrade.async_copy.plan import Copy, LoopPlan
from tritonport.upgrade.bounds import Bounds, said_of_depth
from tritonport.upgrade.edit import parsed, renamed
from tritonport.upgrade.legality import HINTS
from tritonport.upgrade.slices import asks_for_more, made_anew


@dataclass(frozen=True)
class Spelling:
    """The names that a pipelined loop uses.

    Attributes:
        gl: the module of the Gluon language.
        copies: the module of cp.async (`async_copy`).
        buffers: the depth of the ring.
        helpers: the emitted functions under the names they have in the file.
        flags: per copied tile, by the place of its load, the argument that says whether a launch can copy it.
    """

    gl: str
    copies: str
    buffers: str
    helpers: Mapping[str, str]
    flags: Mapping[int, str]


class LoopWriter:
    """Writes one loop anew as source text."""

    def __init__(self, plan: LoopPlan, spelling: Spelling, names: Names, module: cst.Module) -> None:
        self.plan = plan
        self.use = spelling
        self.names = names
        self.module = module
        self.index = plan.loop.target
        self.counter = names.fresh("i")
        self.slot = names.fresh("slot")
        self.next = names.fresh(f"next_{self.index}")
        self.rings = {copy.place: names.fresh(f"{copy.access.target}_ring") for copy in plan.copies}
        self.results = {copy.place: copy.operand.result for copy in plan.copies}
        self.early = names.fresh(f"early_{self.index}")
        self.ahead = {name: names.fresh(f"next_{name}") for name in plan.split.renamed}
        anew = made_anew(plan.body, plan.split.ahead, [copy.place for copy in plan.copies])
        # Names of their own in the prologue: what is known before a loop and assigned in it would be carried by it, and
        # an index has the type of the loop's bounds there.
        self.first = self.ahead | {name: names.fresh(f"early_{name}") for name in anew}

    def write(self) -> list[cst.BaseStatement]:
        """The statements that take the place of the loop."""
        node = self.plan.loop.node
        hint = self.plan.loop.stages
        depth = f"{self.use.helpers['ring_depth']}({self._code(hint)})" if hint is not None else ""
        lines: list[str] = []
        if depth:
            self.use = replace(self.use, buffers=self._constant(self.use.buffers, depth, lines))
        lines += self._rings()
        self.bounds = Bounds(self.plan.loop, self.plan.body, self.names, self.module)
        lines += self.bounds.lines
        lines += [f"{self.ahead[name]} = {name}" for name in self.plan.split.carried]
        before = [self._statement(line) for line in lines]
        before += [self._prologue(), self._statement(f"{self.slot} = 0")]
        kept = [line for line in node.leading_lines if line.comment is None or not said_of_depth(line.comment.value)]
        before[0] = before[0].with_changes(leading_lines=kept)
        after = self._statement(f"{self.use.copies}.wait_group(0)")
        return [*before, self._steady(), after]

    # -- pieces

    def _constant(self, name: str, text: str, lines: list[str]) -> str:
        """What a compile-time value of the loop is called: a name that a line more defines, or the value itself where
        the body of an unrolled loop would define the name anew in each copy of it, which Triton refuses."""
        if any(one.kind == "static_range" for one in self.plan.loop.parents):
            return f"({text})" if " if " in text else text
        lines.append(f"{name}: {self.use.gl}.constexpr = {text}")
        return name

    def _rings(self) -> list[str]:
        lines: list[str] = []
        for copy in self.plan.copies:
            ring = self.rings[copy.place]
            dtype = f"{copy.access.base}.dtype.element_ty"
            layout = self.names.fresh(f"{ring}_layout")
            shape = ", ".join(copy.shape)
            if copy.operand.several is not None:
                indices, layouts = copy.operand.several
                result = self.names.fresh(f"{copy.access.target}_result_layout")
                alike = f"{self.use.helpers['read_alike']}({dtype}, {indices}, {layouts})"
                self.results[copy.place] = self._constant(result, f"{copy.operand.result} if {alike} else None", lines)
            role = replace(copy.operand, result=self.results[copy.place]).role
            if copy.widened is not None:
                # Transposed, it stands in memory as the other operand does.
                index = 1 - copy.widened.index if copy.widened.transposed else copy.widened.index
                result = self.names.fresh(f"{copy.access.target}_result_layout")
                along = copy.shape[1 - index]
                widens = f"{self.use.helpers['widens_in_registers']}({dtype}, {along}, {copy.widened.result})"
                result = self._constant(result, f"{copy.widened.result} if {widens} else None", lines)
                self.results[copy.place] = result
                role = f"{index}, {result}"
            made = f"{self.use.helpers['ring_layout']}({copy.layout}, [{shape}], {dtype}, {role})"
            layout = self._constant(layout, made, lines)
            lines.append(
                f"{ring} = {self.use.gl}.allocate_shared_memory({dtype}, [{self.use.buffers}, {shape}], {layout})"
            )
        return lines

    def _prologue(self) -> cst.BaseStatement:
        index, body = self.counter, []
        first = self.bounds.index_of(index)
        split, kernel = self.plan.split, self.plan.copies[0].access.kernel
        if asks_for_more(self.plan.body, split.ahead, self.plan.loop, kernel):
            first = f"{self.use.gl}.to_tensor({first})"
        if first != index:
            index = self.early
            body.append(self._statement(f"{index} = {first}"))
        body += self._copies({**self.first, self.index: index}, self.counter, bare=True)
        loop = self._statement(f"for {self.counter} in {self.use.gl}.static_range({self.use.buffers}):\n    pass")
        assert isinstance(loop, cst.For)
        return loop.with_changes(body=cst.IndentedBlock(body))

    def _steady(self) -> cst.BaseStatement:
        loop = self.plan.loop
        assert isinstance(loop.node, cst.For)
        body = [
            self._statement(
                f"# This iteration's tiles are in the oldest of the {self.use.buffers} groups under way.\n"
                f"{self.use.copies}.wait_group({self.use.buffers} - 1)"
            ),
        ]
        copies = {copy.place: copy for copy in self.plan.copies}
        refill = [
            self._statement(f"{self.next} = {self.bounds.after(self.index, self.use.buffers)}"),
            *self._copies({**self.ahead, self.index: self.next}, self.slot, bare=False),
        ]
        early = early_refill(self.plan)
        if early is None:
            body += [*self._staying(copies), *refill]
        else:
            body += self._around_dot(early, copies, refill)
        # A counter takes fewer registers than the remainder of the index.
        last = f"{self.slot} == {self.use.buffers} - 1"
        body.append(self._statement(f"{self.slot} = {self.use.gl}.where({last}, 0, {self.slot} + 1)"))
        block = loop.node.body
        assert isinstance(block, cst.IndentedBlock)
        return loop.node.with_changes(iter=self.bounds.iterator(), body=block.with_changes(body=body), leading_lines=[])

    def _around_dot(
        self, early: EarlyRefill, copies: Mapping[int, Copy], refill: Sequence[cst.BaseStatement]
    ) -> list[cst.BaseStatement]:
        """The computation, with the refill of the ring before its dot where that reads registers alone."""
        cast, line = early.copy.widened, self.plan.body[early.place]
        assert cast is not None and isinstance(line, cst.SimpleStatementLine)
        tile = early.copy.access.target
        name = cast.beside.value if isinstance(cast.beside, cst.Name) else "other"
        beside = self.names.fresh(f"{name.removesuffix('_smem')}_operand")
        others = [self._code(argument.value) for argument in cast.dot.args[2:]]
        operands = [beside, self._code(cast.cast)][:: 1 if cast.index == 1 else -1]
        dot = f"{early.target} = {self._code(cast.dot.func)}({', '.join([*operands, *others])})"
        test = f"{self.use.helpers['is_operand']}({tile})"
        before = self._staying(copies, range(early.place))
        helper = f"{self.use.helpers['operand_beside']}({self._code(cast.beside)}, {1 - cast.index}, {tile})"
        made = self._statement(f"{beside} = {helper}").with_changes(leading_lines=line.leading_lines)
        return [
            *before,
            made,
            self._statement(f"if not {test}:\n    # It reads the ring: the tiles stay until it is done.\n    {dot}"),
            *refill,
            self._statement(f"if {test}:\n    {dot}"),
            *self._staying(copies, range(early.place + 1, len(self.plan.body))),
        ]

    def _staying(self, copies: Mapping[int, Copy], places: range | None = None) -> list[cst.BaseStatement]:
        """The computation, with the tiles of the ring in the place of the loads: all of it, or that at some places."""
        lines: list[cst.BaseStatement] = []
        swaps = self._casts()
        for place in places if places is not None else range(len(self.plan.body)):
            line = self.plan.body[place]
            copy = copies.get(place)
            if copy is not None:
                lines.append(replaced(line, {copy.access.node: cst.parse_expression(self._tile(copy))}))
            elif place in self.plan.split.stays:
                lines.append(replaced(line, swaps))
        return lines

    def _casts(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """What dots read in place of operands that are cast, and of those beside them."""
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        for copy in self.plan.copies:
            cast = copy.widened
            if cast is not None:
                helper = self.use.helpers["operand_beside"]
                beside = f"{helper}({self._code(cast.beside)}, {1 - cast.index}, {copy.access.target})"
                swaps |= {cast.operand: cast.cast, cast.beside: cst.parse_expression(beside)}
        return swaps

    def _tile(self, copy: Copy) -> str:
        tile = f"{self.rings[copy.place]}.index({self.slot})"
        result = self.results[copy.place]
        if copy.widened is not None:
            view = f"{tile}.permute((1, 0))" if copy.widened.transposed else tile
            return f"{self.use.helpers['arrived_operand']}({view}, {copy.widened.index}, {result})"
        if result is not None:
            precision = f", {copy.operand.precision}" if copy.operand.precision is not None else ""
            return f"{self.use.helpers['arrived']}({tile}, {copy.layout}, {result}{precision})"
        loaded = f"{tile}.load({copy.layout})"
        if not copy.refill:
            return loaded
        assert copy.mask is not None and copy.access.other is not None
        return f"{self.use.gl}.where({self._code(copy.mask)}, {loaded}, {self._code(copy.access.other)})"

    def _copies(self, names: Mapping[str, str], slot: str, bare: bool) -> list[cst.BaseStatement]:
        """What runs ahead into the tiles at `slot`; `names`: of the index and of numbers there; `bare`: no comments."""
        copies = {copy.place: copy for copy in self.plan.copies}
        last = max(copies)
        lines: list[cst.BaseStatement] = []
        for place in self.plan.split.ahead:
            copy = copies.get(place)
            if copy is None:
                line = self.plan.body[place]
                if bare or place in self.plan.split.stays:
                    line = line.with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace())
                lines.append(renamed(line, names))
                continue
            lines.append(self._statement(self._start(copy, names, slot)))
            if place == last:
                lines.append(self._statement(f"{self.use.copies}.commit_group()"))
        return lines

    def _start(self, copy: Copy, names: Mapping[str, str], slot: str) -> str:
        pointer = self._code(renamed(copy.pointer, names))
        present = f"{names[self.index]} < {self.bounds.stop}"
        if copy.mask is not None:
            mask = renamed(copy.mask, names)
            present = f"{self._conjunct(mask)} & ({present})"
        ring = f"{self.rings[copy.place]}.index({slot})"
        given = [ring, pointer, present, self.use.flags[copy.place]]
        if copy.hints:
            given += [self._code(copy.hints[name]) if name in copy.hints else '""' for name in HINTS]
        return f"{self.use.helpers['start_cached_copy' if copy.hints else 'start_copy']}({', '.join(given)})"

    def _conjunct(self, mask: cst.BaseExpression) -> str:
        text = self._code(mask)
        plain = isinstance(mask, (cst.Name, cst.Subscript, cst.Call, cst.Attribute)) or bool(mask.lpar)
        chained = isinstance(mask, cst.BinaryOperation) and isinstance(mask.operator, cst.BitAnd)
        return text if plain or chained else f"({text})"

    # -- text

    def _code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node).strip()

    def _statement(self, text: str) -> cst.BaseStatement:
        return parsed(text, self.module)


__all__ = ["LoopWriter", "Spelling"]
