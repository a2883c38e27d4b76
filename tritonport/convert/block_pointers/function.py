"""One function with its block pointers written out: statements, and what has to stand above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from tritonport.analysis.block_pointers.definitions import Definition, Use
from tritonport.analysis.block_pointers.reader import Reader, tuple_pairs
from tritonport.analysis.block_pointers.webs import Web, Webs, grouped, parts_of
from tritonport.analysis.values import Refusal
from tritonport.convert.block_pointers.expressions import ExpressionWriter, Parameters
from tritonport.convert.block_pointers.spelling import LINE
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import assigned_names, replaced, walk


class FunctionWriter(ExpressionWriter):
    """Writes one function; `given` are its parameters that are block pointers, with their ranks."""

    def __init__(
        self,
        module: SourceModule,
        kernel: Kernel,
        reader: Reader,
        webs: Webs,
        tl: str,
        parameters: Parameters,
        given: Mapping[str, int],
    ) -> None:
        super().__init__(module, kernel, reader, webs, tl, parameters)
        self.given = given
        self.known: dict[str, set[str]] = {}
        self.depth = 1

    def write(self) -> cst.FunctionDef:
        body = self._suite(self.kernel.node.body)
        head = [self._line(text, self.kernel.node) for web in self.webs.all() for text in self._entry(web)]
        if head:
            assert isinstance(body, cst.IndentedBlock)
            place = 1 if self.kernel.node.get_docstring() is not None else 0
            body = body.with_changes(body=[*body.body[:place], *head, *body.body[place:]])
        return self.kernel.node.with_changes(body=body, params=self._parameters())

    # -- helpers

    def _entry(self, web: Web) -> list[str]:
        """Offsets that a helper is given are widened before it moves them."""
        if web.parameter is None:
            return []
        moved = {part for made in web.definitions for part in made.parts if made.how != "parameter"}
        return [
            f"{web.variables[part]} = {self.tl}.cast({web.variables[part]}, {self.tl}.int64)"
            for part in parts_of(web.rank)
            if part[0] == "offset" and part in moved
        ]

    def _parameters(self) -> cst.Parameters:
        if not self.given:
            return self.kernel.node.params
        params: list[cst.Param] = []
        for param in self.kernel.node.params.params:
            if param.name.value not in self.given:
                params.append(param)
                continue
            for part, name in self.parameters(self.kernel, param.name.value):
                annotation = (
                    cst.Annotation(cst.parse_expression(f"{self.tl}.constexpr")) if part[0] == "block" else None
                )
                space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
                params.append(cst.Param(cst.Name(name), annotation, comma=space))
            params[-1] = params[-1].with_changes(comma=param.comma)
        return self.kernel.node.params.with_changes(params=params)

    # -- statements

    def _suite(self, body: cst.BaseSuite) -> cst.BaseSuite:
        if isinstance(body, cst.SimpleStatementSuite):
            made: list[cst.BaseStatement] = []
            for small in body.body:
                made += self._lines(
                    cst.SimpleStatementLine([small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]), [small]
                )
            if len(made) == len(body.body) and not self._concerned(body):
                return body
            return cst.IndentedBlock(made or [self._line("pass", body)])
        assert isinstance(body, cst.IndentedBlock)
        written: list[cst.BaseStatement] = []
        above: list[cst.EmptyLine] = []
        for statement in body.body:
            lines = self._statement(statement)
            for name in [*assigned_names(cst.IndentedBlock([statement])), *self._moved(statement)]:
                self.known = {text: names for text, names in self.known.items() if name not in names}
            if not lines:
                above += list(getattr(statement, "leading_lines", ()))
                continue
            if above and hasattr(lines[0], "leading_lines"):
                lines[0] = lines[0].with_changes(leading_lines=[*above, *lines[0].leading_lines])
                above = []
            written += lines
        if len(written) == len(body.body) and all(new is old for new, old in zip(written, body.body, strict=True)):
            return body
        return body.with_changes(body=written or [self._line("pass", self.kernel.node)])

    def _concerned(self, node: cst.CSTNode) -> bool:
        return any(item in self.reader.uses or item in self.reader.definitions for item in walk(node))

    def _moved(self, statement: cst.CSTNode) -> list[str]:
        """Variables that the definitions in a statement set."""
        names: list[str] = []
        for item in walk(statement):
            made = self.reader.definitions.get(item)
            if made is not None:
                web = self.webs.of(made)
                names += [*web.variables.values(), *web.vectors.values()]
        return names

    def _statement(self, statement: cst.BaseStatement) -> list[cst.BaseStatement]:
        if isinstance(statement, cst.SimpleStatementLine):
            return self._lines(statement, statement.body)
        if not self._concerned(statement):
            return [statement]
        if isinstance(statement, cst.If):
            before: list[cst.BaseStatement] = []
            written = self._if(statement, before)
            return self._under(statement, before, written)
        if isinstance(statement, cst.For):
            before = self._before(statement.iter)
            iterable = self.expression(statement.iter)
            written_for = statement.with_changes(iter=iterable, body=self._loop_body(statement, statement.body))
            return self._under(statement, before, written_for)
        if isinstance(statement, cst.While):
            if self._concerned(statement.test):
                raise Refusal("TP110", "a block pointer in the condition of a while loop", statement.test)
            return [statement.with_changes(body=self._loop_body(statement, statement.body))]
        return [statement]

    def _under(
        self, old: cst.BaseStatement, before: list[cst.BaseStatement], written: cst.BaseStatement
    ) -> list[cst.BaseStatement]:
        """Statements above a compound one, below the comment that stands over it."""
        self.made.append((written, old))
        if not before:
            return [written]
        lines = getattr(old, "leading_lines", ())
        first = before[0].with_changes(leading_lines=[*lines])
        return [first, *before[1:], written.with_changes(leading_lines=[])]

    def _loop_body(self, loop: cst.For | cst.While, body: cst.BaseSuite) -> cst.BaseSuite:
        changed = {*assigned_names(body), *self._moved(body)}
        if isinstance(loop, cst.For):
            changed |= {item.value for item in walk(loop.target) if isinstance(item, cst.Name)}
        kept = {text: names for text, names in self.known.items() if not names & changed}
        return self._inner(body, kept)

    def _inner(self, body: cst.BaseSuite, known: dict[str, set[str]]) -> cst.BaseSuite:
        saved = self.known
        self.known = dict(known)
        self.depth += 1
        written = self._suite(body)
        self.depth -= 1
        self.known = saved
        return written

    def _if(self, statement: cst.If, before: list[cst.BaseStatement]) -> cst.If:
        before += self._before(statement.test)
        test = self.expression(statement.test)
        body = self._inner(statement.body, self.known)
        orelse = statement.orelse
        if isinstance(orelse, cst.If):
            inner: list[cst.BaseStatement] = []
            orelse = self._if(orelse, inner)
            if inner:
                raise Refusal("TP110", "a block pointer in the condition of an elif", orelse.test)
        elif orelse is not None:
            orelse = orelse.with_changes(body=self._inner(orelse.body, self.known))
        return statement.with_changes(test=test, body=body, orelse=orelse)

    def _lines(self, line: cst.SimpleStatementLine, body: Sequence[cst.BaseSmallStatement]) -> list[cst.BaseStatement]:
        if not any(self._concerned(small) for small in body):
            return [line]
        made: list[cst.BaseStatement] = []
        for small in body:
            if not self._concerned(small):
                made.append(cst.SimpleStatementLine([small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]))
                continue
            made += self._small(small)
        if made:
            made[0] = made[0].with_changes(leading_lines=line.leading_lines)
            made[-1] = made[-1].with_changes(trailing_whitespace=line.trailing_whitespace)
        return made

    def _small(self, small: cst.BaseSmallStatement) -> list[cst.BaseStatement]:
        target = small.targets[0].target if isinstance(small, cst.Assign) else getattr(small, "target", None)
        value = getattr(small, "value", None)
        pairs = tuple_pairs(target, value) if target is not None and value is not None else None
        if pairs is not None and any(self._defined(item) for _, item in pairs):
            return self._unpacked(small, pairs)
        if isinstance(small, (cst.Assign, cst.AnnAssign)) and value is not None:
            made = self._defined(value)
            if made is not None:
                return [*self._before(value, made), *self._definition(made, small)]
        before = self._before(small)
        written = replaced(small, self.swaps(small))
        lines = [*before, cst.SimpleStatementLine([written.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])]
        if self._too_wide(lines[-1]):
            before += self._pointers(small)
            written = replaced(small, self.swaps(small, named=True))
            lines = [*before, cst.SimpleStatementLine([written.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])]
        self.made.append((lines[-1], small))
        return lines

    def _too_wide(self, line: cst.BaseStatement) -> bool:
        code = self.module.tree.code_for_node(line).strip("\n")
        return any(len(part) + 4 * self.depth > LINE for part in code.splitlines())

    def _defined(self, value: cst.BaseExpression) -> Definition | None:
        """The definition that an assigned value is."""
        return self.reader.definitions.get(value)

    def _unpacked(
        self, small: cst.BaseSmallStatement, pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]]
    ) -> list[cst.BaseStatement]:
        """`p_a, x = tl.make_block_ptr(...), y`: one statement each, what is not a block pointer first."""
        written: list[cst.BaseStatement] = []
        names = {item.value for target, _ in pairs for item in walk(target) if isinstance(item, cst.Name)}
        plain = [(target, item) for target, item in pairs if self._defined(item) is None]
        for _, item in pairs if plain else ():
            if self._defined(item) is not None and names & {
                inner.value for inner in walk(item) if isinstance(inner, cst.Name)
            }:
                raise Refusal("TP110", "a block pointer is made from a name of the same assignment", item)
        for target, item in plain:
            written += self._before(item)
            assert isinstance(target, cst.BaseAssignTargetExpression)
            line = cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(target)], self.expression(item))])
            self.made.append((line, small))
            written.append(line)
        for _, item in pairs:
            made = self._defined(item)
            if made is not None:
                written += [*self._before(item, made), *self._definition(made, small)]
        return written

    # -- what is written

    def _line(self, text: str, origin: cst.CSTNode) -> cst.BaseStatement:
        line = cst.parse_statement(text + "\n", self.module.tree.config_for_parsing)
        self.made.append((line, origin))
        return line

    def _once(self, text: str, origin: cst.CSTNode) -> list[cst.BaseStatement]:
        """A line, unless the same stands above and still holds."""
        if text in self.known:
            return []
        self.known[text] = {item.value for item in walk(cst.parse_statement(text + "\n")) if isinstance(item, cst.Name)}
        return [self._line(text, origin)]

    def _definition(self, made: Definition, origin: cst.CSTNode) -> list[cst.BaseStatement]:
        """The variables that a definition sets, and its offset vectors where nothing moves them."""
        web = self.webs.of(made)
        lines: list[str] = []
        for part, name in web.variables.items():
            amount = self.webs.moves(made, part)
            text = self.webs.setting(made, part)
            if amount is not None:
                negative = amount.startswith("-") and grouped(amount[1:]) == amount[1:]
                lines.append(f"{name} -= {amount[1:]}" if negative else f"{name} += {amount}")
            elif part[0] == "block" and text is not None:
                # Arms of a compile-time `if` may give it another shape each.
                lines.append(f"{name}: {self.tl}.constexpr = {text}")
            elif text is not None and text != name:
                several = len(web.definitions) > 1 and part[0] != "base"
                lines.append(f"{name} = {self.tl}.cast({text}, {self.tl}.int64)" if several else f"{name} = {text}")
        for dim in sorted(web.at_make) if made.how != "advance" or self.webs.starts_from(made) is not None else ():
            part = ("offset", dim)
            offset = web.variables.get(part) or web.inline.get(part) or self.webs.setting(made, part) or "0"
            lines.append(self.spelling.vector(web, dim, offset))
        return [self._line(text, origin) for text in lines]

    def _uses(self, node: cst.CSTNode) -> list[Use]:
        return [self.reader.uses[item] for item in walk(node) if item in self.reader.uses]

    def _before(self, node: cst.CSTNode, but: Definition | None = None) -> list[cst.BaseStatement]:
        """What has to stand above a statement: block pointers without a name, offset vectors and masks."""
        lines: list[cst.BaseStatement] = []
        for item in reversed([item for item in walk(node) if item in self.reader.definitions]):
            made = self.reader.definitions[item]
            if made is not but and not made.name:
                lines += self._definition(made, item)
        for use in self._uses(node):
            if use.how not in ("load", "store"):
                continue
            web = self.web(use)
            for dim in range(web.rank):
                if dim not in web.at_make:
                    lines += self._once(self.spelling.vector(web, dim, web.reference(("offset", dim))), use.node)
            if len(use.checked) > 1:
                mask = self.spelling.mask(web, use, 4 * self.depth)
                lines += self._once(f"{self.spelling.mask_name(web, use)} = {mask}", use.node)
        return lines

    def _pointers(self, node: cst.CSTNode) -> list[cst.BaseStatement]:
        lines = []
        for use in self._uses(node):
            if use.how in ("load", "store"):
                web = self.web(use)
                lines += self._once(f"{self.spelling.pointer_name(web)} = {self.spelling.pointer(web)}", use.node)
        return lines
