"""The statements of a function, block by block, and what is said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.convert.accumulators import Loop
from tritonport.convert.assignments import AssignmentWriter
from tritonport.convert.expressions import Recipe
from tritonport.convert.finished_tiles import finished_tiles
from tritonport.convert.fixed_parts import fixed_masks, wide_ranges
from tritonport.convert.iterables import iterable
from tritonport.convert.output import OutputFile
from tritonport.convert.ranges import loops_alike, ranges_before
from tritonport.convert.shared_masks import masks_before
from tritonport.convert.sinking import raise_masks, sink_loads
from tritonport.convert.staging import has_dot, tiles_to_stage
from tritonport.convert.syntax import ignored_at, one_per_line, without_notes
from tritonport.report import Diagnostic
from tritonport.report.comments import is_ignored, render_note
from tritonport.source.kernel import Kernel


class StatementWriter(AssignmentWriter):
    """Writes a block: in the passes before the last one from its end, since uses stand below definitions."""

    def __init__(self, module: OutputFile, kernel: Kernel, frames: list[Frame], recipes: Mapping[str, Recipe]) -> None:
        super().__init__(module, kernel, frames, recipes)
        self.notes: list[Diagnostic] = []
        self._searched: set[cst.CSTNode] = set()
        self._added_branches: dict[cst.If, cst.IndentedBlock] = {}

    @cached_property
    def _alike(self) -> set[Loop]:
        return loops_alike(self.kernel.node)

    def block(self, body: cst.BaseSuite) -> cst.BaseSuite:
        if isinstance(body, cst.SimpleStatementSuite):
            small: list[cst.BaseSmallStatement] = []
            for statement in body.body:
                small += self.small(statement)
            return body.with_changes(body=small)
        assert isinstance(body, cst.IndentedBlock)
        lines = raise_masks(sink_loads(body.body, self.frames), self.frames) if self.depth else body.body
        lines = self.moved.in_order(lines)
        self.staged |= tiles_to_stage(lines, self.frames)
        if not self.final:
            self._find_finished(lines)
        lines = [*self.moved.heads.get(body, ()), *(line for line in lines if line not in self.moved.lines)]
        if not self.final:
            for line in reversed(lines):
                self._statement(line)
            return body
        written: list[tuple[cst.BaseStatement, list[cst.BaseStatement]]] = []
        for line in lines:
            made = self._statement(line)
            made += [
                cst.SimpleStatementLine([self.in_shared_memory(tile.variable, tile)])
                for tile in dict.fromkeys(self.finished.values())
                if tile.after is line and tile.staged
            ]
            written.append((line, made))
        parts = masks_before(written, self.frames, self.names.fresh)
        return body.with_changes(body=[line for part in parts for line in part])

    def _find_finished(self, lines: Sequence[cst.BaseStatement]) -> None:
        """Note the operands of a block's dots that are finished further up in it, once."""
        if lines and lines[0] not in self._searched:
            self._searched.add(lines[0])
            self.finished |= finished_tiles(lines, self.frames)

    def note(self, code: str, message: str, node: cst.CSTNode) -> None:
        """Say something about the statement that is being written: a diagnostic, and a comment above it."""
        if self.final:
            path, line, column = self.module.place(node, self.frames[0])
            self.notes.append(Diagnostic(code, message, path, line, column, self.kernel.name))

    def _statement(self, line: cst.BaseStatement) -> list[cst.BaseStatement]:
        written = self._written(line)
        notes = [note for note in self.notes if not is_ignored(note, ignored_at(line))]
        self.notes = []
        self.module.diagnostics += notes
        if notes and written:
            # What a loop brings with it stands before it; the notes are about the loop.
            place = next((index for index, found in enumerate(written) if isinstance(found, type(line))), 0)
            head = list(without_notes(written[place]))
            head += [cst.EmptyLine(comment=cst.Comment(render_note(note))) for note in notes]
            written[place] = written[place].with_changes(leading_lines=head)
        return written

    def _written(self, line: cst.BaseStatement) -> list[cst.BaseStatement]:
        if isinstance(line, cst.SimpleStatementLine):
            parts = [self.small(small) for small in line.body]
            if all(len(part) == 1 for part in parts):
                return [
                    line.with_changes(
                        body=[
                            part[0].with_changes(semicolon=small.semicolon)
                            for part, small in zip(parts, line.body, strict=True)
                        ]
                    )
                ]
            return one_per_line(line, [small for part in parts for small in part])
        if isinstance(line, cst.If):
            return [self._if(line)]
        if isinstance(line, (cst.For, cst.While)):
            return self._loop(line)
        return [line]

    def _loop(self, line: Loop) -> list[cst.BaseStatement]:
        """A loop, and around it what brings the sums of its dots to tensor memory and back."""
        sums = self.sums(line)
        before: list[cst.BaseStatement] = [self.before_loop(name, accumulator) for name, accumulator in sums]
        outside, self.held = self.held, [*self.held, *(accumulator for _, accumulator in sums)]
        written = self._for(line) if isinstance(line, cst.For) else self._while(line)
        self.held = outside
        if before:
            before[0] = before[0].with_changes(leading_lines=written.leading_lines)
            written = written.with_changes(leading_lines=[])
        ranges: list[cst.BaseStatement] = []
        if self.final and (has_dot(line, self.frames) or line in self._alike):
            ranges, written = ranges_before(written, self.names.fresh, self._is_assigned_once)
        if self.final and not has_dot(line, self.frames):
            masks, written = fixed_masks(written, self.names.fresh, self._is_tensor)
            ranges += masks
            if isinstance(line, cst.For) and isinstance(written, cst.For) and self._has_wide_index(line):
                wide, written = wide_ranges(written, self.names.fresh, self._is_range, self.module.gl)
                ranges += wide
        return [*ranges, *before, written, *(self.after_loop(name, accumulator) for name, accumulator in sums)]

    def _is_tensor(self, name: str) -> bool:
        """Whether a variable, or a copy of one, is a tensor."""
        webs = (web for web in self.webs.all() if web.is_tensor)
        return any(name in (web.name, *(copy for _, copy in web.copies.values())) for web in webs)

    def _is_range(self, name: str) -> bool:
        """Whether a variable, or a copy of one, is an index range and nothing else."""
        webs = (web for web in self.webs.all() if name in (web.name, *(copy for _, copy in web.copies.values())))
        found = [definition for web in webs for definitions in web.definitions for definition in definitions]
        return bool(found) and all(definition.value.op == "arange" for definition in found)

    def _has_wide_index(self, line: cst.For) -> bool:
        """Whether a loop counts up to a number that was cast to 64 bits."""
        ends = [self.first(argument.value) for argument in line.iter.args] if isinstance(line.iter, cst.Call) else []
        casts = [end.node for end in ends if end is not None and isinstance(end.node, cst.Call)]
        return any(
            self.operations(cast) == {"cast"} and cst.Module([]).code_for_node(cast).rstrip(")").endswith(".int64")
            for cast in casts
        )

    def _is_assigned_once(self, name: str) -> bool:
        """Whether the output assigns a variable, or a copy of one, in one place of the source."""
        webs = self.webs.all()
        found = next((web for web in webs if name in (web.name, *(copy for _, copy in web.copies.values()))), None)
        if found is None:
            return True
        return sum(len(web.definitions[0]) for web in webs if web.name == found.name) == 1

    def _while(self, line: cst.While) -> cst.While:
        self.depth += 1
        written = line.with_changes(test=self.emit(line.test), body=self.block(line.body))
        self.depth -= 1
        return written

    def _if(self, line: cst.If) -> cst.If:
        orelse = line.orelse
        if isinstance(orelse, cst.If):
            orelse = self._if(orelse)
        elif orelse is not None:
            orelse = orelse.with_changes(body=self._branch(orelse.body))
        elif line in self.moved.heads:
            orelse = cst.Else(self._branch(self._head_of(line)))
        return line.with_changes(test=self.emit(line.test), body=self._branch(line.body), orelse=orelse)

    def _head_of(self, line: cst.If) -> cst.IndentedBlock:
        """The branch of an `if` without `else` that has the dots in it which the other branch adds to."""
        if line not in self._added_branches:
            block = self._added_branches[line] = cst.IndentedBlock([])
            self.moved.heads[block] = self.moved.heads[line]
        return self._added_branches[line]

    def _branch(self, body: cst.BaseSuite) -> cst.BaseSuite:
        self.branches.append(body)
        written = self.block(body)
        self.branches.pop()
        return written

    def _for(self, line: cst.For) -> cst.For:
        written, said = iterable(self, line.iter)
        if said:
            self.note("TP106", said, line.iter)
        notes, self.notes = self.notes, []
        self.depth += 1
        body = self.block(line.body)
        self.depth -= 1
        self.notes = notes
        return line.with_changes(iter=written, body=body)
