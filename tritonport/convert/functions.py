"""Writing a whole function: its statements, the copies of its index variables, its layouts.

The body is written several times. The first passes only find out which layouts each index variable is asked for, last
statement first, since the uses stand below the definitions; when nothing new is asked for, names are given and the
text is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING

import libcst as cst

from tritonport.analysis.dims import canonical
from tritonport.analysis.expressions import AUGMENTED, BINARY
from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.values import Kind, Refusal, Value
from tritonport.convert.accumulators import Accumulator, AccumulatorWriter, Loop
from tritonport.convert.alignment import Alignment
from tritonport.convert.expressions import Inconsistent
from tritonport.convert.launch_flags import with_flags
from tritonport.convert.layout_text import definitions as layout_definitions
from tritonport.convert.layout_text import made_text, named_parts, term_text
from tritonport.convert.names import Names, name_layouts, name_made, stem, suffix
from tritonport.convert.parameters import has_default, with_commas
from tritonport.convert.ranges import ranges_before
from tritonport.convert.sinking import raise_masks, sink_loads
from tritonport.convert.snippets import rename
from tritonport.convert.staging import has_dot, shared_arguments, tiles_to_stage, turned
from tritonport.convert.wants import Want, key
from tritonport.convert.webs import Web, Webs
from tritonport.layouts.solver import frames_of
from tritonport.layouts.terms import Root, Slice, Term, base_of, is_narrow, normal, root_of
from tritonport.report import Diagnostic
from tritonport.report.comments import ignored_codes, is_ignored, note_code, render_note
from tritonport.source.module import Kernel
from tritonport.source.walk import walk

if TYPE_CHECKING:
    from tritonport.convert.module import ModuleWriter

MAX_PASSES = 24
LINE = 120
_BINARY_OF = {name: operator for operator, name in BINARY.items()}


class FunctionWriter(AccumulatorWriter):
    """Writes a kernel (one frame) or a helper (one frame per call that reaches it)."""

    def __init__(self, module: ModuleWriter, kernel: Kernel, frames: list[Frame]) -> None:
        self.module = module
        self.kernel = kernel
        self.frames = frames
        self.webs = Webs(frames)
        self.is_entry = frames[0].caller is None
        self.names = Names(_all_names(kernel.node) | module.taken)
        self.layouts: dict[Term, str] = {}
        self.slots: list[tuple[str, list[Term | None]]] = []
        self.argument_layouts: dict[str, str] = {}
        self.again: list[tuple[str, Want, str]] = []
        self.alignment = Alignment(frozenset(), frozenset(), enabled=False)
        self.final = False
        self.notes: list[Diagnostic] = []
        self.changed = False
        self.depth = 0
        self.branches: list[cst.BaseSuite] = []
        self.staged: set[cst.CSTNode] = set()
        self.shared = {} if self.is_entry else shared_arguments(frames)
        self.held: list[Accumulator] = []
        self.in_place = None
        self.written_copy: tuple[Web, str] | None = None
        self.defaults: list[dict[tuple[str, ...], Term]] = [module.terms_by_shape(frame) for frame in frames]

    # -- the function

    def write(self) -> cst.FunctionDef:
        body = self.kernel.node.body
        for _ in range(MAX_PASSES):
            self.changed = False
            self._block(body)
            if not self.changed and not self._ask_for_defaults():
                break
        else:
            raise Refusal("TP204", f"the layouts of {self.kernel.name} do not settle", self.kernel.node)
        self._name_copies()
        self.final = True
        node = self.kernel.node.with_changes(body=self._block(body), params=self._parameters())
        return self._with_layouts(node)

    def _ask_for_defaults(self) -> bool:
        """A cheap variable nothing asks for still needs a layout to be written in."""
        asked = False
        for web in self.webs.all():
            if web.is_tensor and not web.expensive and not web.copies:
                want = tuple(self._default_of(index, definitions) for index, definitions in enumerate(web.definitions))
                asked |= web.ask(want)
        return asked

    def _default_of(self, index: int, definitions: list[Definition]) -> Term | None:
        for definition in definitions:
            if definition.value.is_tensor:
                return self.shape_term(index, definition.value)
        return None

    def shape_term(self, index: int, value: Value) -> Term:
        """Some layout of the kernel that fits a shape."""
        shape = tuple(canonical(size) for size in value.shape)
        known = self.defaults[index]
        if shape not in known:
            known[shape] = Root(value.rank, value.shape)
        return known[shape]

    def default_term(self, index: int, value: Value, want: Want | None) -> Term:
        if want is not None and want[index] is not None:
            term = want[index]
            assert term is not None
            return term
        return self.shape_term(index, value)

    # -- layouts

    def layout_text(self, want: Want) -> str:
        if self.is_entry:
            (term,) = want
            assert term is not None
            for part in named_parts(term):
                if isinstance(part, Root) and part.wide is not None:
                    self.layout_text((part.wide,))
                if part not in self.layouts:
                    self.layouts[part] = f"layout{len(self.layouts)}"
                    self.changed = True
            return term_text(term, self.layouts, self.module.gl)
        return self._slot_text(want)

    def _slot_text(self, want: Want) -> str:
        """A layout in a helper: that of an argument, or of a parameter of its own; the axes all calls slice stay
        written out."""
        terms = [normal(term) if term is not None else None for term in want]
        axes: list[int] = []
        while True:
            parameter = self._parameter_layout(terms)
            if parameter is not None:
                text = self._local_layout(parameter)
                break
            slices = [term for term in terms if isinstance(term, Slice)]
            if len(slices) < sum(term is not None for term in terms) or len({term.axis for term in slices}) > 1:
                text = self._slot(terms)
                break
            axes.append(slices[0].axis)
            terms = [normal(term.parent) if isinstance(term, Slice) else None for term in terms]
        for axis in reversed(axes):
            text = f"{self.module.gl}.SliceLayout({axis}, {text})"
        return text

    def _parameter_layout(self, terms: list[Term | None]) -> str | None:
        """`x.type.layout` where a tensor argument has that very layout."""
        for parameter in self.kernel.parameters:
            if parameter.name in self.shared:
                continue
            have = []
            for frame in self.frames:
                value = frame.parameters[parameter.name].value
                have.append(normal(value.term) if value.is_tensor and value.focus is not None else None)
            if all(term is None or term == other for term, other in zip(terms, have, strict=True)) and any(have):
                return parameter.name
        return None

    def _local_layout(self, parameter: str) -> str:
        """The name, inside the helper, of the layout of one of its tensor arguments."""
        if parameter not in self.argument_layouts:
            plain = not self.argument_layouts and "layout" not in self.names.taken
            wanted = "layout" if plain else f"{parameter}_layout"
            self.argument_layouts[parameter] = self.names.fresh(wanted)
            self.changed = True
        return self.argument_layouts[parameter]

    def _slot(self, terms: list[Term | None]) -> str:
        for name, known in self.slots:
            if all(a is None or b is None or a == b for a, b in zip(known, terms, strict=True)):
                for index, term in enumerate(terms):
                    known[index] = known[index] or term
                return name
        wanted = "layout" if not self.slots else f"layout_{len(self.slots) + 1}"
        name = self.names.fresh(wanted)
        self.slots.append((name, list(terms)))
        self.changed = True
        return name

    def _parameters(self) -> cst.Parameters:
        parameters = self.kernel.node.params
        changed = [self._parameter(param) for param in parameters.params]
        keyword_only = [self._parameter(param) for param in parameters.kwonly_params]
        for _, _, name in self.again:
            changed.append(cst.Param(cst.Name(name), default=None if not has_default(changed) else cst.Name("None")))
        for name, terms in self.slots:
            annotation = cst.Annotation(cst.parse_expression(f"{self.module.gl}.constexpr"))
            default = cst.Name("None") if has_default(changed) or self._left_out(terms) else None
            changed.append(cst.Param(cst.Name(name), annotation, default=default))
        return parameters.with_changes(params=with_commas(changed, parameters.params), kwonly_params=keyword_only)

    def _left_out(self, terms: list[Term | None]) -> bool:
        """Whether a call does not pass a layout: with its compile-time arguments, no branch has a use for it."""
        passed: dict[cst.Call | None, bool] = {}
        for frame, term in zip(self.frames, terms, strict=True):
            passed[frame.call] = passed.get(frame.call, False) or term is not None
        return not all(passed.values())

    def _parameter(self, param: cst.Param) -> cst.Param:
        changes: dict[str, object] = {}
        if param.annotation is not None and not self._is_text(param.annotation.annotation):
            annotation = self.module.language_name(param.annotation.annotation)
            changes["annotation"] = param.annotation.with_changes(annotation=annotation)
        if param.default is not None:
            changes["default"] = self._unread(param.default)
        return param.with_changes(**changes) if changes else param

    def _is_text(self, annotation: cst.BaseExpression) -> bool:
        """Whether Triton reads the text of a type: it knows `tl.int64` by it, and no other spelling."""
        module = self.kernel.module
        if module is not self.module.module or not module.annotations_are_text or module.is_constexpr(annotation):
            return False
        return module.tree.code_for_node(annotation).startswith("tl.")

    def _with_layouts(self, node: cst.FunctionDef) -> cst.FunctionDef:
        if not self.layouts and not self.argument_layouts:
            return node
        if isinstance(node.body, cst.SimpleStatementSuite):
            # `def f(x): return g(x)` has no room for a layout.
            line = cst.SimpleStatementLine(node.body.body, trailing_whitespace=node.body.trailing_whitespace)
            node = node.with_changes(body=cst.IndentedBlock([line]))
        assert isinstance(node.body, cst.IndentedBlock)
        if not self.is_entry:
            return self._with_argument_layouts(node, node.body)
        frame = self.frames[0]
        parameters = {parameter.name for parameter in self.kernel.parameters if not parameter.constexpr}
        integers = self.module.integers_of(frame)
        self.alignment = self.module.alignment_of(frame, (root for root in self.layouts if isinstance(root, Root)))
        statements = list(node.body.body)
        place = _after_docstring(statements)
        lines: list[cst.BaseStatement] = []
        lines_above: dict[str, str] = {}
        last = place
        for root, name in self.layouts.items():
            if isinstance(root, Root):
                found = layout_definitions(
                    root,
                    name,
                    integers,
                    parameters,
                    self.module.gl,
                    self.module.snippets,
                    self.names,
                    LINE - len(f"{name}: {self.module.gl}.constexpr = ") - 4,
                    self.alignment,
                    self.layouts,
                    self.module.triton,
                    lines_above,
                    self.uses_tensor_memory,
                )
            else:
                found = [(name, made_text(root, self.layouts, self.module.gl, self.module.snippets))]
            for made, plain in found:
                text = rename(plain, self.module.renamed_snippets)
                last = max(last, self.module.below_locals(text, node))
                written = f"{made}: {self.module.gl}.constexpr = {text}"
                lines.append(cst.parse_statement(written + "\n", self.module.config))
        recovered = self.module.recovered(self.kernel)
        if recovered is not None and lines:
            said = wrap(f"What Triton chose for {self.module.target}: {recovered.label}.", LINE - 10)
            above = [cst.EmptyLine(comment=cst.Comment(f"# {part}")) for part in said]
            lines[0] = lines[0].with_changes(leading_lines=above)
        place = last
        following = statements[place] if place < len(statements) else None
        if following is not None and not _starts_with_blank(following) and len(lines) > 1:
            statements[place] = _blank_before(following)
        statements[place:place] = lines
        node = node.with_changes(body=node.body.with_changes(body=statements))
        return self._with_flags(node)

    def _with_flags(self, node: cst.FunctionDef) -> cst.FunctionDef:
        """The arguments that say how rows lie, last, and the decorator that fills them."""
        if not self.alignment.flags:
            return node
        module = self.module
        entries = self.alignment.entries(module.snippet_name("multiples_of_16"))
        return with_flags(node, self.kernel, entries, module.gl, module.triton_module)

    def _with_argument_layouts(self, node: cst.FunctionDef, body: cst.IndentedBlock) -> cst.FunctionDef:
        """A helper names the layouts it takes from its arguments, and converts arguments for its loops, at its head."""
        lines = [
            cst.parse_statement(f"{name}: {self.module.gl}.constexpr = {parameter}.type.layout\n", self.module.config)
            for parameter, name in self.argument_layouts.items()
        ]
        made = [
            cst.SimpleStatementLine([small])
            for parameter in self.frames[0].parameters.values()
            for small in self._conversions(cst.Name(parameter.name), self.webs.of_definition(parameter), at_head=True)
        ]
        statements = list(body.body)
        place = _after_docstring(statements)
        statements[place:place] = [*lines, *made]
        return node.with_changes(body=body.with_changes(body=statements))

    # -- copies of variables

    def _name_copies(self) -> None:
        if self.is_entry:
            labels = self._labels(self.frames[0])
            for term, written in self._written_to(self.frames[0]).items():
                labels.setdefault(term, written)
            roots = sorted(
                (term for term in self.layouts if isinstance(term, Root)),
                key=lambda root: (root.wide is not None, root.accesses[0].position if root.accesses else 1 << 30),
            )
            made = [term for term in self.layouts if not isinstance(term, Root)]
            constants = frozenset(parameter.name for parameter in self.kernel.parameters if parameter.constexpr)
            self.layouts = name_layouts(roots, self.names, labels, constants)
            for layout in made:
                self.layouts[layout] = name_made(layout, self.layouts, self.names, labels)
        else:
            self._name_slots()
        known = self.layouts if self.is_entry else self._known_layouts()
        numbered = list(known)
        # A variable that the source assigns anew is assigned anew in its copies too.
        given: dict[tuple[object, ...], str] = {}
        for web in self.webs.all():
            if web.staged:
                web.staged_name = self.names.fresh(web.staged_name)
        for web in self.webs.all():
            if len(web.copies) < 2 and not (web.expensive and web.copies):
                continue
            terms = [next(term for term in want if term is not None) for want, _ in web.copies.values()]
            if web.expensive:
                bound = next(term for term in web.bound if term is not None)
                others = [bound, *terms]
            else:
                others = terms
            plain = [other for other in others if not is_narrow(other)]
            ordered = sorted(web.copies.items(), key=lambda item: _copy_order(item[1][0], numbered))
            if len(plain) == 1 and sum(other.name == web.name for other in self.webs.all()) > 1:
                # The source assigns to a name what it computes from another value of that name: the copy that keeps it
                # comes last.
                ordered.sort(key=lambda item: not any(term is not None and is_narrow(term) for term in item[1][0]))
            web.copies = dict(ordered)
            for wanted, (want, _) in ordered:
                term = next(term for term in want if term is not None)
                if len(plain) == 1 and term is plain[0] and not web.expensive:
                    # The copies for stores have names of their own; this is the variable that the source has.
                    web.copies[wanted] = (want, web.name)
                    continue
                label = suffix(term, known, others if is_narrow(term) else plain)
                copy = (web.name, label, wanted)
                if web.expensive or web.reads_itself or copy not in given:
                    given[copy] = self.names.fresh(f"{web.name}_{label}")
                web.copies[wanted] = (want, given[copy])
        if not self.is_entry:
            self.again = [
                (parameter.name, want, name)
                for parameter in self.frames[0].parameters.values()
                if self._given_cheaply(parameter.name)
                for want, name in self.webs.of_definition(parameter).copies.values()
            ]

    def _name_slots(self) -> None:
        """The layouts of a helper are named after what has them, where there are several."""
        if len(self.slots) + len(self.argument_layouts) < 2:
            return
        self.names.taken -= {*self.argument_layouts.values(), *(name for name, _ in self.slots)}
        for parameter in self.argument_layouts:
            self.argument_layouts[parameter] = self.names.fresh(f"{parameter}_layout".lower())
        labels = [self._labels(frame) for frame in self.frames]
        for place, (name, terms) in enumerate(self.slots):
            found = (known.get(term) for known, term in zip(labels, terms, strict=True) if term is not None)
            label = next((label for label in found if label is not None), None)
            self.slots[place] = (self.names.fresh(f"{label}_layout".lower() if label else name), terms)

    def _known_layouts(self) -> dict[Term, str]:
        """The names that a helper has for layouts: those of its arguments, and its parameters."""
        found: dict[Term, str] = {}
        for frame in self.frames:
            for parameter, name in self.argument_layouts.items():
                value = frame.parameters[parameter].value
                if value.is_tensor and value.focus is not None:
                    found.setdefault(normal(value.term), name)
        for name, terms in self.slots:
            for term in terms:
                if term is not None:
                    found.setdefault(term, name)
        return found

    def _given_cheaply(self, name: str) -> bool:
        """Whether callers write an argument in any layout for nothing: it is given once more, not converted."""
        values = [frame.parameters[name].value for frame in self.frames]
        return all(value.op == "parameter" and value.operands[0].value.focus is None for value in values)

    def _labels(self, function: Frame) -> dict[Term, str]:
        """Per layout, the first variable of a function, or of the helpers it calls, that has it."""
        found: dict[Term, str] = {}
        for definition in [definition for frame in frames_of(function) for definition in frame.targets.values()]:
            value = definition.value
            if value.is_tensor and value.focus is not None and not isinstance(normal(value.term), Slice):
                found.setdefault(normal(value.term), definition.name)
        return found

    @staticmethod
    def _written_to(function: Frame) -> dict[Term, str]:
        """Per layout that something is stored in, the tensor behind the variable that holds the addresses."""
        found: dict[Term, str] = {}
        for value in [value for frame in frames_of(function) for value in frame.values.values()]:
            if value.op == "store" and value.focus is not None and isinstance(value.operands[0].node, cst.Name):
                found.setdefault(normal(value.focus), stem(value.operands[0].node.value))
        return found

    def reference(self, node: cst.Name, definitions: list[Definition | None], want: Want | None) -> cst.BaseExpression:
        definition = next(found for found in definitions if found is not None)
        web = self.webs.of_definition(definition)
        if not web.is_tensor:
            return node
        if not web.expensive:
            if want is None:
                if not web.copies:
                    return node
                name = next(iter(web.copies.values()))[1]
                # A number that is about to become a tensor: the copy before this one is a tensor already.
                if self.written_copy is not None and self.written_copy[0] is web:
                    name = self.written_copy[1]
                return node.with_changes(value=name)
            if web.ask(want):
                self.changed = True
            return node.with_changes(value=web.copy(want))
        bound = web.bound
        written: cst.BaseExpression = node
        accumulator = self.memory_of(web)
        summed = self.added_to(node, web)
        if summed is not None:
            return summed
        if accumulator is not None:
            written = self.loaded(accumulator)
        if want is None or all(
            wanted is None or have is None or normal(wanted) == normal(have)
            for wanted, have in zip(want, bound, strict=True)
        ):
            return written
        if self._can_hoist(definitions):
            if web.ask(want):
                self.changed = True
                self.layout_text(want)
            return node.with_changes(value=web.copy(want))
        return self.coerce(written, bound, want)

    def staged_operand(
        self, node: cst.BaseExpression, index: int, focus: Want, precision: str = ""
    ) -> cst.BaseExpression | None:
        """An operand of a dot that was put in shared memory further up, or its transpose: before the loop if it does
        not change in that, else where it is made, before the next tile takes registers."""
        value = self.first(node)
        inner = turned(value) if value is not None and not isinstance(node, cst.Name) else None
        if inner is not None:
            tile = self.staged_operand(inner, 1 - index, focus, precision) if isinstance(inner, cst.Name) else None
            if tile is None:
                return None
            order = cst.Arg(cst.parse_expression("(1, 0)"))
            return cst.Call(cst.Attribute(tile, cst.Name("permute")), [order])
        if not isinstance(node, cst.Name):
            return None
        definitions = [frame.reads.get(node) for frame in self.frames]
        found = next((definition for definition in definitions if definition is not None), None)
        if found is not None and found.how == "parameter" and found.name in self.shared:
            return node
        if found is None:
            return None
        web = self.webs.of_definition(found)
        if not web.expensive or not web.is_tensor or any(other != precision for _, _, other in web.staged.values()):
            return None
        wanted = (index, *key(focus))
        if wanted not in web.staged:
            if not (
                self._can_hoist(definitions) or self._staged_at_once(definitions) or self._is_due(web, definitions)
            ):
                return None
            web.staged[wanted] = (index, focus, precision)
            web.staged_name = f"{web.name}_smem"
            self.changed = True
            self.layout_text(focus)
        return cst.Name(web.staged_name)

    def _can_hoist(self, definitions: Sequence[Definition | None]) -> bool:
        """A value made outside of the loop that uses it is converted where it is made, once: an argument of a helper
        at its head."""
        found = [definition for definition in definitions if definition is not None]
        return all(
            (definition.how == "assign" and definition.depth - definition.frame.depth < self.depth)
            or (definition.how == "parameter" and self.depth > 0)
            for definition in found
        )

    def _staged_argument(self, node: cst.BaseExpression, index: int, focus: Want) -> cst.BaseExpression:
        """A variable that dots of a helper read, in shared memory since it was assigned."""
        for frame in self.frames:
            definition = frame.reads.get(node)
            if definition is not None and definition.statement is not None:
                self.staged.add(definition.statement)
        return self.staged_operand(node, index, focus) or self.emit(node)

    def _is_due(self, web: Web, definitions: Sequence[Definition | None]) -> bool:
        """Whether a tile from memory is made for the dot that is being written: no `if` lies between, and no loop
        carries the variable."""
        found = [definition for definition in definitions if definition is not None]
        if not all(_from_memory(definition) for definition in found):
            return False
        others = [definition for frame in web.definitions for definition in frame]
        if not all(definition.how == "assign" or definition.value.choice for definition in others):
            return False
        inside = [{id(node) for node in walk(branch)} for branch in self.branches]
        return all(id(definition.statement) in nodes for nodes in inside for definition in found)

    def _staged_at_once(self, definitions: Sequence[Definition | None]) -> bool:
        found = [definition for definition in definitions if definition is not None]
        return all(definition.how == "assign" and definition.statement in self.staged for definition in found)

    # -- statements

    def _block(self, body: cst.BaseSuite) -> cst.BaseSuite:
        if isinstance(body, cst.SimpleStatementSuite):
            small: list[cst.BaseSmallStatement] = []
            for statement in body.body:
                small += self._small(statement)
            return body.with_changes(body=small)
        assert isinstance(body, cst.IndentedBlock)
        written: list[cst.BaseStatement] = []
        lines = raise_masks(sink_loads(body.body, self.frames), self.frames) if self.depth else body.body
        self.staged |= tiles_to_stage(lines, self.frames)
        if not self.final:
            for line in reversed(lines):
                self._statement(line)
            return body
        for line in lines:
            written += self._statement(line)
        return body.with_changes(body=written)

    def note(self, code: str, message: str, node: cst.CSTNode) -> None:
        """Say something about the statement that is being written: a diagnostic, and a comment above it."""
        if self.final:
            path, line, column = self.module.place(node, self.frames[0])
            self.notes.append(Diagnostic(code, message, path, line, column, self.kernel.name))

    def _statement(self, line: cst.BaseStatement) -> list[cst.BaseStatement]:
        written = self._written(line)
        notes = [note for note in self.notes if not is_ignored(note, _ignored(line))]
        self.notes = []
        self.module.diagnostics += notes
        if notes and written:
            # What a loop brings with it stands before it; the notes are about the loop.
            place = next((index for index, found in enumerate(written) if isinstance(found, type(line))), 0)
            head = list(strip_leading(written[place]))
            head += [cst.EmptyLine(comment=cst.Comment(render_note(note))) for note in notes]
            written[place] = written[place].with_changes(leading_lines=head)
        return written

    def _written(self, line: cst.BaseStatement) -> list[cst.BaseStatement]:
        if isinstance(line, cst.SimpleStatementLine):
            parts = [self._small(small) for small in line.body]
            if all(len(part) == 1 for part in parts):
                return [
                    line.with_changes(
                        body=[
                            part[0].with_changes(semicolon=small.semicolon)
                            for part, small in zip(parts, line.body, strict=True)
                        ]
                    )
                ]
            return _lines(line, [small for part in parts for small in part])
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
        if self.final and has_dot(line, self.frames):
            ranges, written = ranges_before(written, self.names.fresh, self._is_assigned_once)
        return [*ranges, *before, written, *(self.after_loop(name, accumulator) for name, accumulator in sums)]

    def _is_assigned_once(self, name: str) -> bool:
        """Whether the output assigns a variable, or a copy of one, in one place of the source."""
        webs = self.webs.all()
        found = next((web for web in webs if name in (web.name, *(copy for _, copy in web.copies.values()))), None)
        if found is None:
            return True
        return sum(len(web.definitions[0]) for web in webs if web.name == found.name) == 1

    def _while(self, line: cst.While) -> cst.While:
        self.depth += 1
        written = line.with_changes(test=self.emit(line.test), body=self._block(line.body))
        self.depth -= 1
        return written

    def _if(self, line: cst.If) -> cst.If:
        orelse = line.orelse
        if isinstance(orelse, cst.If):
            orelse = self._if(orelse)
        elif orelse is not None:
            orelse = orelse.with_changes(body=self._branch(orelse.body))
        return line.with_changes(test=self.emit(line.test), body=self._branch(line.body), orelse=orelse)

    def _branch(self, body: cst.BaseSuite) -> cst.BaseSuite:
        self.branches.append(body)
        written = self._block(body)
        self.branches.pop()
        return written

    def _for(self, line: cst.For) -> cst.For:
        iterable = line.iter
        written: cst.BaseExpression
        if isinstance(iterable, cst.Call):
            written = self.module.iterator(self, iterable)
        else:
            written = self.emit(iterable)
        notes, self.notes = self.notes, []
        self.depth += 1
        body = self._block(line.body)
        self.depth -= 1
        self.notes = notes
        return line.with_changes(iter=written, body=body)

    def _small(self, small: cst.BaseSmallStatement) -> list[cst.BaseSmallStatement]:
        if isinstance(small, cst.Expr):
            return [small.with_changes(value=self.emit(small.value))]
        if isinstance(small, cst.Assign):
            return self._assign(small)
        if isinstance(small, cst.AnnAssign):
            return self._annotated(small)
        if isinstance(small, cst.AugAssign):
            return self._augmented(small)
        if isinstance(small, cst.Return):
            return [self._return(small)]
        if isinstance(small, cst.Assert):
            return [small.with_changes(test=self.emit(small.test))]
        return [small]

    def _reached(self, node: cst.CSTNode) -> bool:
        return any(node in frame.values or node in frame.targets for frame in self.frames)

    def _assign(self, small: cst.Assign) -> list[cst.BaseSmallStatement]:
        if not self._reached(small.value):
            return [small.with_changes(value=self._unread(small.value))]
        if len(small.targets) > 1:
            plain = [target.target for target in small.targets]
            if any(len(self._copies(target)) > 1 for target in plain if isinstance(target, cst.Name)):
                single: list[cst.BaseSmallStatement] = []
                for one in small.targets:
                    single += self._assign(small.with_changes(targets=[one]))
                return single
        target = small.targets[-1].target
        if isinstance(target, cst.Name):
            web = self._web(target)
            if web is None or not web.is_tensor:
                return [small.with_changes(value=self._valued(small.value, target))]
            written: list[cst.BaseSmallStatement] = []
            for want, name in self._copies(target):
                with self._writing(web, name), self.adding(small, web) as adds:
                    value = self.emit(small.value, want)
                value = value if adds else self.stored(web, value)
                targets = [*small.targets[:-1], small.targets[-1].with_changes(target=target.with_changes(value=name))]
                written.append(small.with_changes(targets=targets, value=value))
            return written + self._conversions(target, web)
        if isinstance(target, (cst.Tuple, cst.List)):
            return self._unpack(small, target)
        return [small.with_changes(value=self.emit(small.value))]

    def _valued(self, value: cst.BaseExpression, target: cst.Name) -> cst.BaseExpression:
        """A tuple that is spelled out keeps its items in the layouts its variable has."""
        definitions = [frame.targets.get(target) for frame in self.frames]
        items = [definition.value.items if definition is not None else () for definition in definitions]
        if isinstance(value, (cst.Tuple, cst.List)) and any(items):
            return self.spelled(value, items)
        return self.emit(value)

    def spelled(self, node: cst.Tuple | cst.List, items: Sequence[Sequence[Value]]) -> cst.BaseExpression:
        elements = []
        for position, element in enumerate(node.elements):
            want = tuple(
                row[position].term
                if position < len(row) and row[position].is_tensor and row[position].focus is not None
                else None
                for row in items
            )
            value = self.emit(element.value, want if any(term is not None for term in want) else None)
            elements.append(element.with_changes(value=value))
        return node.with_changes(elements=elements)

    def _web(self, target: cst.Name) -> Web | None:
        if not any(target in frame.targets for frame in self.frames):
            return None
        return self.webs.of_target(target, target.value)

    def _copies(self, target: cst.Name) -> list[tuple[Want | None, str]]:
        web = self._web(target)
        if web is None or not web.is_tensor:
            return [(None, target.value)]
        if web.expensive:
            accumulator = self.memory_of(web)
            return [(web.bound, target.value if accumulator is None else accumulator.memory)]
        return [(want, name) for want, name in web.copies.values()]

    @contextmanager
    def _writing(self, web: Web, name: str) -> Iterator[None]:
        """While one of a variable's copies is written."""
        self.written_copy = (web, name)
        try:
            yield
        finally:
            self.written_copy = None

    def memory_name(self, name: str) -> str:
        return self.names.fresh(f"{name}_tmem") if self.final else f"{name}_tmem"

    def _conversions(self, target: cst.Name, web: Web, at_head: bool = False) -> list[cst.BaseSmallStatement]:
        """Copies of an expensive variable that are made where it is: in other layouts, in shared memory for dots."""
        if not web.expensive:
            return []
        written: list[cst.BaseSmallStatement] = []
        given = {name for _, _, name in self.again} if at_head else ()
        for want, name in web.copies.values():
            if name in given:
                continue
            value = self.module.gl_call(
                "convert_layout", [cst.Name(target.value), cst.parse_expression(self.layout_text(want))]
            )
            written.append(cst.Assign([cst.AssignTarget(cst.Name(name))], value))
        if web.staged:
            # Statements are read from the last to the first, so the dots asked in that order.
            dots = list(web.staged.values())[::-1]
            indices = [str(index) for index, _, _ in dots]
            layouts = [self.layout_text(focus) for _, focus, _ in dots]
            several = len(web.staged) > 1
            texts = [f"[{', '.join(column)}]" if several else column[0] for column in (indices, layouts)]
            texts += [precision for _, _, precision in dots[:1] if precision]
            arguments = [cst.Name(target.value), *map(cst.parse_expression, texts)]
            function = "dot_operands" if several else "dot_operand"
            call = self.module.snippet_call(function, [cst.Arg(argument) for argument in arguments])
            call = call.with_changes(args=self.module.separated(call.args))
            written.append(cst.Assign([cst.AssignTarget(cst.Name(web.staged_name))], call))
        return written

    def _unpack(self, small: cst.Assign, target: cst.Tuple | cst.List) -> list[cst.BaseSmallStatement]:
        names = [element.value for element in target.elements]
        value = small.value
        after: list[cst.BaseSmallStatement] = []
        if (
            isinstance(value, (cst.Tuple, cst.List))
            and len(value.elements) == len(names)
            and all(isinstance(name, cst.Name) for name in names)
        ):
            left: list[cst.BaseElement] = []
            right: list[cst.BaseElement] = []
            for name, element, slot in zip(names, value.elements, target.elements, strict=True):
                assert isinstance(name, cst.Name)
                web = self._web(name)
                copies = self._copies(name)
                for index, (want, copy) in enumerate(copies):
                    written = self.emit(element.value, want)
                    left.append(_element(slot, name.with_changes(value=copy), index + 1 < len(copies)))
                    right.append(_element(element, written, index + 1 < len(copies)))
                if web is not None:
                    after += self._conversions(name, web)
            new_target = target.with_changes(elements=left)
            return [
                small.with_changes(
                    targets=[*small.targets[:-1], small.targets[-1].with_changes(target=new_target)],
                    value=value.with_changes(elements=right),
                ),
                *after,
            ]
        written_value = self.emit(value)
        for name in names:
            if isinstance(name, cst.Name):
                after += self._after_unpack(name)
        return [small.with_changes(value=written_value), *after]

    def _after_unpack(self, name: cst.Name) -> list[cst.BaseSmallStatement]:
        web = self._web(name)
        if web is None or not web.is_tensor:
            return []
        values = [frame.targets[name].value if name in frame.targets else None for frame in self.frames]
        have: Want = tuple(value.term if value is not None and value.focus is not None else None for value in values)
        written: list[cst.BaseSmallStatement] = []
        if web.expensive:
            converted = self.coerce(cst.Name(name.value), have, web.bound)
            if not isinstance(converted, cst.Name):
                written.append(cst.Assign([cst.AssignTarget(cst.Name(name.value))], converted))
        return written + self._conversions(name, web)

    def _annotated(self, small: cst.AnnAssign) -> list[cst.BaseSmallStatement]:
        annotation = small.annotation.with_changes(annotation=self.module.language_name(small.annotation.annotation))
        value = self.emit(small.value) if small.value is not None else None
        return [small.with_changes(annotation=annotation, value=value)]

    def _augmented(self, small: cst.AugAssign) -> list[cst.BaseSmallStatement]:
        target = small.target
        values = self.values(small)
        if not isinstance(target, cst.Name) or self.first(small) is None:
            return [small.with_changes(value=self._unread(small.value))]
        web = self._web(target)
        if web is None or not web.is_tensor:
            return [small.with_changes(value=self.emit(small.value))]
        written: list[cst.BaseSmallStatement] = []
        for want, name in self._copies(target):
            focus = self.focus(values, want)
            if isinstance(small.operator, cst.AddAssign):
                from tritonport.convert.recipes.dot import added_dot

                with self.adding(small, web):
                    combined_dot = added_dot(self, values, target, small.value, focus)
                if combined_dot is not None:
                    written.append(cst.Assign([cst.AssignTarget(cst.Name(name))], combined_dot))
                    continue
            with self._writing(web, name):
                left = self.operand(target, values, focus)
                right = self.operand(small.value, values, focus)
            result = tuple(
                None if value is None else (value.term if value.focus is not None else term)
                for value, term in zip(values, focus, strict=True)
            )
            direct = isinstance(left, cst.Name) and left.value == name
            if direct and (
                want is None
                or all(a is None or b is None or normal(a) == normal(b) for a, b in zip(result, want, strict=True))
            ):
                written.append(small.with_changes(target=target.with_changes(value=name), value=right))
                continue
            operator = _BINARY_OF[AUGMENTED[type(small.operator)]]
            combined: cst.BaseExpression = cst.BinaryOperation(left, operator(), _operand(right))
            combined = self.stored(web, self.coerce(combined, result, want))
            written.append(cst.Assign([cst.AssignTarget(cst.Name(name))], combined))
        return written + self._conversions(target, web)

    def _return(self, small: cst.Return) -> cst.Return:
        if small.value is None or not self._reached(small.value):
            return small
        results = []
        for frame in self.frames:
            caller = frame.caller
            results.append(caller.values.get(frame.call) if caller is not None and frame.call is not None else None)
        if isinstance(small.value, (cst.Tuple, cst.List)):
            items = [result.items if result is not None else () for result in results]
            return small.with_changes(value=self.spelled(small.value, items))
        want = tuple(
            result.term if result is not None and result.is_tensor and result.focus is not None else None
            for result in results
        )
        return small.with_changes(
            value=self.emit(small.value, want if any(term is not None for term in want) else None)
        )

    # -- calls of helpers

    def helper_call(self, node: cst.Call, want: Want | None) -> cst.BaseExpression:
        callees = [frame.calls.get(node) for frame in self.frames]
        callee = next(frame for frame in callees if frame is not None)
        asked = self.answered(node, callee.kernel)
        if asked is not None:
            return asked
        written = self.module.helper(callee.kernel, [frame for frame in callees if frame is not None])
        arguments = []
        names = [parameter.name for parameter in callee.kernel.parameters]
        position = 0
        given: dict[str, cst.BaseExpression] = {}
        shared = written.shared_for(callees)
        for argument in node.args:
            if argument.keyword is not None:
                name = argument.keyword.value
            elif argument.star:
                arguments.append(argument.with_changes(value=self.emit(argument.value)))
                continue
            else:
                name = names[position]
                position += 1
            given[name] = argument.value
            if name in shared:
                arguments.append(argument.with_changes(value=self._staged_argument(argument.value, *shared[name])))
                continue
            wanted = tuple(
                None
                if frame is None
                else (
                    value.term
                    if (value := frame.parameters[name].value).is_tensor and value.focus is not None
                    else None
                )
                for frame in callees
            )
            rows = [frame.parameters[name].value.items if frame is not None else () for frame in callees]
            if isinstance(argument.value, (cst.Tuple, cst.List)) and any(rows):
                arguments.append(argument.with_changes(value=self.spelled(argument.value, rows)))
                continue
            arguments.append(
                argument.with_changes(
                    value=self.emit(argument.value, wanted if any(term is not None for term in wanted) else None)
                )
            )
        extra = [(copy, self.emit(given[name], want)) for name, want, copy in written.again_for(callees)]
        for name, roots in written.slots_for(callees):
            if any(root is not None for root in roots):
                extra.append((name, cst.parse_expression(self.layout_text(tuple(roots)))))
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        from tritonport.convert.expressions import join_arguments

        function = self.module.helper_function(node, callee.kernel, written)
        added = [cst.Arg(value, keyword=cst.Name(name), equal=equal) for name, value in extra]
        call = node.with_changes(func=function, args=join_arguments(arguments, added))
        result = self.first(node)
        if result is None or not result.is_tensor:
            return call
        have: Want = tuple(found.term if found is not None else None for found in self.values(node))
        return self.coerce(call, have, want)


def _from_memory(definition: Definition) -> bool:
    """Whether a tile is no dot's result, which may stay in registers, and has one assignment, or one in each branch of
    a compile-time `if`."""
    value = definition.value
    if not value.is_tensor or value.focus is None or root_of(value.term).dot is not None:
        return False
    if definition.how == "phi":
        assert definition.statement is not None
        inside = {id(node) for node in walk(definition.statement)}
        return value.loose and all(
            _from_memory(source) and id(source.statement) in inside for source in definition.sources
        )
    return definition.how == "assign"


def strip_leading(statement: cst.BaseStatement) -> list[cst.EmptyLine]:
    """The lines above a statement without the notes of an earlier run."""
    lines = getattr(statement, "leading_lines", ())
    return [line for line in lines if line.comment is None or note_code(line.comment.value) is None]


def _ignored(statement: cst.BaseStatement) -> frozenset[str]:
    """What the comments above and behind a statement ask not to be told."""
    comments = [line.comment.value for line in getattr(statement, "leading_lines", ()) if line.comment is not None]
    trailing: cst.TrailingWhitespace | None = getattr(statement, "trailing_whitespace", None)
    if isinstance(statement, (cst.For, cst.While, cst.If)) and isinstance(statement.body, cst.IndentedBlock):
        trailing = statement.body.header
    if trailing is not None and trailing.comment is not None:
        comments.append(trailing.comment.value)
    return frozenset(code for comment in comments for code in ignored_codes(comment))


def _copy_order(want: Want, numbered: list[Term]) -> tuple[int, tuple[int, ...]]:
    """Copies stand in the order of the layouts, and for one layout from the first dimension to the last."""
    term = next(term for term in want if term is not None)
    base = base_of(term)
    place = numbered.index(base) if base in numbered else len(numbered)
    return place, tuple(-axis for axis in _axes(normal(term)))


def _axes(term: Term) -> tuple[int, ...]:
    axes: list[int] = []
    while isinstance(term, Slice):
        axes.append(term.axis)
        term = normal(term.parent)
    return tuple(axes)


def _all_names(node: cst.CSTNode) -> set[str]:
    return {item.value for item in walk(node) if isinstance(item, cst.Name)}


def _after_docstring(statements: Sequence[cst.BaseStatement]) -> int:
    if statements and isinstance(statements[0], cst.SimpleStatementLine):
        first = statements[0].body[0]
        if isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString)):
            return 1
    return 0


def _starts_with_blank(statement: cst.BaseStatement) -> bool:
    lines: list[cst.EmptyLine] = list(getattr(statement, "leading_lines", ()))
    return bool(lines) and lines[0].comment is None


def _blank_before(statement: cst.BaseStatement) -> cst.BaseStatement:
    lines = list(getattr(statement, "leading_lines", ()))
    return statement.with_changes(leading_lines=[cst.EmptyLine(indent=False), *lines])


def _lines(line: cst.SimpleStatementLine, small: list[cst.BaseSmallStatement]) -> list[cst.BaseStatement]:
    """One statement per line; the comment above stays above the first, the one behind stays behind the last."""
    result: list[cst.BaseStatement] = []
    for index, statement in enumerate(small):
        statement = statement.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        changes: dict[str, object] = {"body": [statement]}
        if index:
            changes["leading_lines"] = []
        if index + 1 < len(small):
            changes["trailing_whitespace"] = cst.TrailingWhitespace()
        result.append(line.with_changes(**changes))
    return result


def _element(model: cst.BaseElement, value: cst.BaseExpression, more: bool) -> cst.BaseElement:
    if more:
        return cst.Element(value, comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    return model.with_changes(value=value)


def _operand(node: cst.BaseExpression) -> cst.BaseExpression:
    simple = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)
    if isinstance(node, simple) or getattr(node, "lpar", None):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


__all__ = ["FunctionWriter", "Inconsistent", "Kind"]
