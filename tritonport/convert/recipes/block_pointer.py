"""Block pointers, written out as pointers and masks before the kernel is analysed.

Gluon never had block pointers and Triton lost them in 3.8, so this works on the source alone: the result is a Triton
kernel that any version reads, and everything after it (layouts, copies of index vectors) treats it like one that was
written that way. Offsets are 64 bits wide, as Triton's own lowering has them (`RewriteTensorPointer`): `offset >= 0`
and `offset < shape` for the dimensions in `boundary_check`, nothing for the others, and no `other` where
`padding_option` is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.block_pointers import LOAD, STORE, Definition, Reader, Use, helper_of, tuple_pairs
from tritonport.analysis.block_webs import Web, Webs, grouped, parts_of
from tritonport.analysis.values import Refusal, Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.names import Names
from tritonport.convert.recipes import recipe
from tritonport.convert.wants import Want
from tritonport.source.module import Kernel, SourceModule
from tritonport.source.walk import assigned_names, replaced, walk

LINE = 120
_COPY_ENGINE = 90
_PADDING = {"zero": "0", "nan": 'float("nan")'}


@recipe("make_block_ptr", "advance")
def left(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """A block pointer that was not written out."""
    raise Refusal("TP110", f"{writer.module.module.tree.code_for_node(node)} cannot be followed", node)


def without_block_pointers(module: SourceModule, target: str = "sm_90") -> SourceModule:
    """The file with the block pointers of its Triton kernels written out; the module itself where it has none.

    For a target without a copy engine tensor descriptors that a kernel makes are written out too, as Triton's own
    lowering does (`RewriteTensorDescriptorToPointer`).

    A function in which a block pointer cannot be followed stays as it is, and `refused` of the result says why.
    """
    descriptors = (
        "make_tensor_descriptor" in module.text and int("".join(filter(str.isdigit, target)) or 0) < _COPY_ENGINE
    )
    if "make_block_ptr" not in module.text and not descriptors:
        return module
    kernels = [kernel for kernel in module.kernels if kernel.language == "triton"]
    found = _Functions(module, kernels, descriptors)
    if not found.written and not found.refused:
        return module
    return module.with_functions(
        {kernel.node: node for kernel, node in found.written.items()},
        found.origins,
        {kernel.node: refusal for kernel, refusal in found.refused.items()},
    )


class _Functions:
    """All functions of a file: who takes block pointers, and what is written for each."""

    def __init__(self, module: SourceModule, kernels: list[Kernel], descriptors: bool) -> None:
        self.module = module
        self.descriptors = descriptors
        self.kernels = kernels
        self.refused: dict[Kernel, Refusal] = {}
        self.readers: dict[Kernel, Reader] = {}
        self.webs: dict[Kernel, Webs] = {}
        self.written: dict[Kernel, cst.FunctionDef] = {}
        self.origins: dict[cst.CSTNode, cst.CSTNode] = {}
        self.given: dict[Kernel, dict[str, int]] = {}
        self.language = _language(module)
        self._read()
        for kernel in self.readers:
            self._guarded(kernel, self._decide)
        self._refuse_callers()
        for kernel in [kernel for kernel in self.webs if kernel not in self.refused]:
            self._guarded(kernel, self._write)
        self._refuse_callers()
        for kernel in self.refused:
            self.written.pop(kernel, None)

    def _guarded(self, kernel: Kernel, step: object) -> None:
        if kernel in self.refused:
            return
        try:
            step(kernel)  # type: ignore[operator]
        except Refusal as refusal:
            self.refused[kernel] = refusal

    def _read(self) -> None:
        waiting = list(self.kernels)
        for _ in range(8 * len(self.kernels)):
            if not waiting:
                return
            kernel = waiting.pop(0)
            self.readers.pop(kernel, None)
            self._guarded(kernel, self._read_one)
            reader = self.readers.get(kernel)
            for use in reader.uses.values() if reader is not None else ():
                callee = self._callee(kernel, use)
                if callee is None:
                    continue
                ranks = self.given.setdefault(callee, {})
                rank = next(iter(use.definitions)).rank
                if ranks.get(use.parameter) == rank:
                    continue
                if use.parameter in ranks:
                    self.refused[callee] = Refusal(
                        "TP203", f"{callee.name} takes block pointers of different ranks", callee.node
                    )
                    continue
                ranks[use.parameter] = rank
                waiting.append(callee)

    def _read_one(self, kernel: Kernel) -> None:
        text = self.module.tree.code_for_node(kernel.node.body)
        if "block_ptr" in text or kernel in self.given or (self.descriptors and "tensor_descriptor" in text):
            self.readers[kernel] = Reader(self.module, kernel, self.given.get(kernel, {}), self.descriptors)

    def _callee(self, kernel: Kernel, use: Use) -> Kernel | None:
        if use.how != "argument" or not isinstance(use.node, cst.Call):
            return None
        return helper_of(self.module, kernel, use.node)

    def _decide(self, kernel: Kernel) -> None:
        reader = self.readers[kernel]
        if not reader.definitions:
            return
        taken = {item.value for item in walk(kernel.node) if isinstance(item, cst.Name)}
        bindings = self.module.bindings
        names = Names(taken | {*bindings.imported, *bindings.assigned, *bindings.functions, *bindings.kernels})
        self.webs[kernel] = Webs(reader, names.fresh)

    def _refuse_callers(self) -> None:
        """A caller goes with the helper that it passes a block pointer to."""
        changed = True
        while changed:
            changed = False
            for kernel, reader in self.readers.items():
                if kernel in self.refused:
                    continue
                for use in reader.uses.values():
                    callee = self._callee(kernel, use)
                    if callee is not None and callee in self.refused:
                        self.refused[kernel] = self.refused[callee]
                        changed = True
                        break

    def _write(self, kernel: Kernel) -> None:
        for other, reader in self.readers.items():
            self._calls_agree(kernel, other, reader)
        writer = _Writer(self, kernel, self.readers[kernel], self.webs[kernel])
        node = writer.write()
        old = {id(item) for item in walk(kernel.node)}
        self.origins[node] = kernel.node
        for new, origin in writer.made:
            for item in walk(new):
                if id(item) not in old:
                    self.origins.setdefault(item, origin)
        self.written[kernel] = node

    def _calls_agree(self, kernel: Kernel, caller: Kernel, reader: Reader) -> None:
        """Every call of a helper gives it block pointers for the same parameters."""
        wanted = set(self.given.get(kernel, ()))
        if not wanted:
            return
        for node in walk(caller.node):
            if isinstance(node, cst.Call) and helper_of(self.module, caller, node) is kernel:
                passed = {use.parameter for use in reader.uses.values() if use.node is node and use.how == "argument"}
                if passed != wanted:
                    raise Refusal("TP110", f"{kernel.name} is called with and without a block pointer", node)

    def parameters(self, callee: Kernel, name: str) -> list[tuple[tuple[str, int], str]]:
        """What stands for a parameter of a helper that is a block pointer: the parts it uses, with their names."""
        for web in self.webs[callee].all():
            if web.parameter == name:
                return [(part, web.variables[part]) for part in parts_of(web.rank)]
        return []


class _Writer:
    """Writes one function."""

    def __init__(self, functions: _Functions, kernel: Kernel, reader: Reader, webs: Webs) -> None:
        self.functions = functions
        self.module = functions.module
        self.kernel = kernel
        self.reader = reader
        self.webs = webs
        self.tl = functions.language
        self.made: list[tuple[cst.CSTNode, cst.CSTNode]] = []
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
        given = self.functions.given.get(self.kernel, {})
        if not given:
            return self.kernel.node.params
        params: list[cst.Param] = []
        for param in self.kernel.node.params.params:
            if param.name.value not in given:
                params.append(param)
                continue
            for part, name in self.functions.parameters(self.kernel, param.name.value):
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
            iterable = self._expression(statement.iter)
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
        test = self._expression(statement.test)
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
        written = replaced(small, self._swaps(small))
        lines = [*before, cst.SimpleStatementLine([written.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])]
        if self._too_wide(lines[-1]):
            before += self._pointers(small)
            written = replaced(small, self._swaps(small, named=True))
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
            line = cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(target)], self._expression(item))])
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
            lines.append(self._vector(web, dim, offset))
        return [self._line(text, origin) for text in lines]

    def _vector(self, web: Web, dim: int, offset: str) -> str:
        vector = f"{web.vectors[dim]} = {self.tl}.arange(0, {web.reference(('block', dim))}).to({self.tl}.int64)"
        if offset == "0":
            return vector
        node = cst.parse_expression(offset)
        product = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply)
        return f"{vector} + {offset if product else grouped(offset)}"

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
            web = self._web(use)
            for dim in range(web.rank):
                if dim not in web.at_make:
                    lines += self._once(self._vector(web, dim, web.reference(("offset", dim))), use.node)
            if len(use.checked) > 1:
                lines += self._once(f"{self._mask_name(web, use)} = {self._mask(web, use, 4 * self.depth)}", use.node)
        return lines

    def _pointers(self, node: cst.CSTNode) -> list[cst.BaseStatement]:
        lines = []
        for use in self._uses(node):
            if use.how in ("load", "store"):
                web = self._web(use)
                lines += self._once(f"{self._pointer_name(web)} = {self._pointer(web)}", use.node)
        return lines

    def _web(self, use: Use) -> Web:
        return self.webs.of(next(iter(use.definitions)))

    def _mask_name(self, web: Web, use: Use) -> str:
        return self._named(web, "mask" if len(use.checked) == web.rank else "mask" + "".join(map(str, use.checked)))

    def _pointer_name(self, web: Web) -> str:
        return self._named(web, "ptrs")

    def _named(self, web: Web, label: str) -> str:
        key = (label, 0)
        extra = self.webs.extra.setdefault(id(web), {})
        if key not in extra:
            extra[key] = self.webs.fresh(f"{web.name}_{label}")
        return extra[key]

    def _spread(self, text: str, dim: int, rank: int) -> str:
        if rank == 1:
            return text
        return f"{text}[{', '.join(':' if index == dim else 'None' for index in range(rank))}]"

    def _pointer(self, web: Web) -> str:
        terms = [web.reference(("base", 0))]
        base = cst.parse_expression(terms[0])
        if not isinstance(base, cst.BinaryOperation) or not isinstance(base.operator, (cst.Add, cst.Subtract)):
            terms[0] = grouped(terms[0])
        for dim in range(web.rank):
            stride = web.reference(("stride", dim))
            vector = self._spread(web.vectors[dim], dim, web.rank)
            terms.append(vector if stride == "1" else f"{vector} * {grouped(stride)}")
        return " + ".join(terms)

    def _mask(self, web: Web, use: Use, indent: int = 0) -> str:
        """What `boundary_check` means; over several lines where one is too long."""
        conditions = []
        for dim in use.checked:
            vector, shape = web.vectors[dim], web.reference(("shape", dim))
            node = cst.parse_expression(shape)
            below = f"({vector} < {shape if isinstance(node, cst.BinaryOperation) else grouped(shape)})"
            condition = below if self._starts_inside(web, dim) else f"({vector} >= 0) & {below}"
            if web.rank > 1:
                inner = condition if condition is below else f"({condition})"
                condition = self._spread(inner, dim, web.rank)
            conditions.append(condition)
        text = " & ".join(conditions)
        if indent and indent + len(f"{self._mask_name(web, use)} = {text}") > LINE:
            return "(\n    " + "\n    & ".join(conditions) + "\n)"
        return text[1:-1] if text.startswith("(") and len(conditions) == 1 and text == below else text

    def _starts_inside(self, web: Web, dim: int) -> bool:
        """Whether an offset is a number that is not negative, wherever it is used."""
        part = ("offset", dim)
        texts = {self.webs.setting(made, part) for made in web.definitions} - {None}
        if any(self.webs.moves(made, part) for made in web.definitions) or web.parameter is not None:
            return False
        return all(text is not None and text.isdigit() for text in texts)

    # -- expressions

    def _expression(self, node: cst.BaseExpression) -> cst.BaseExpression:
        written: cst.BaseExpression = replaced(node, self._swaps(node))
        if written is not node:
            self.made.append((written, node))
        return written

    def _swaps(self, node: cst.CSTNode, named: bool = False) -> dict[cst.CSTNode, cst.CSTNode]:
        """The nodes of a statement that change, with what they become; inner ones first."""
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        for item in reversed(list(walk(node))):
            use = self.reader.uses.get(item)
            if use is not None and use.how == "type":
                pointer = cst.parse_expression(self._element_pointer(self._web(use)))
                element = cst.Attribute(pointer, cst.Name("dtype"))
                is_descriptor = any(made.padding is not None for made in use.definitions)
                swaps[item] = cst.Attribute(element, cst.Name("element_ty")) if is_descriptor else element
            elif use is not None and isinstance(item, cst.Call):
                swaps[item] = self._access(use, item, swaps, named)
            elif isinstance(item, cst.Call) and any(argument in self.reader.uses for argument in item.args):
                swaps[item] = self._helper_call(item, swaps)
        return swaps

    def _element_pointer(self, web: Web) -> str:
        """An expression with the element type of a block pointer: its base, or the one name in it that can be a
        pointer."""
        base = web.reference(("base", 0))
        names: list[str] = []
        node = cst.parse_expression(base)
        while isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract)):
            if isinstance(node.right, cst.Name) and isinstance(node.operator, cst.Add):
                names.append(node.right.value)
            node = node.left
        names += [node.value] if isinstance(node, cst.Name) else []
        return names[0] if len(names) == 1 else grouped(base)

    def _access(self, use: Use, node: cst.Call, swaps: dict[cst.CSTNode, cst.CSTNode], named: bool) -> cst.Call:
        web = self._web(use)
        pointer = self._pointer_name(web) if named else self._pointer(web)
        args = [cst.Arg(cst.parse_expression(pointer))]
        names = self._names(use, node)
        given = [(_parameter(argument, index, names), argument.value) for index, argument in enumerate(node.args)]
        args += [cst.Arg(replaced(value, swaps)) for name, value in given if name == "value"]
        if use.checked:
            mask = self._mask_name(web, use) if len(use.checked) > 1 else self._mask(web, use)
            args.append(_keyword("mask", cst.parse_expression(mask)))
            if use.padding:
                args.append(_keyword("other", cst.parse_expression(_PADDING[use.padding])))
        for name, value in given:
            if name in ("cache_modifier", "eviction_policy", "volatile"):
                args.append(_keyword(name, replaced(value, swaps)))
        space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args = [*(argument.with_changes(comma=space) for argument in args[:-1]), args[-1]]
        function = cst.parse_expression(f"{self.tl}.{use.how}") if names[0] in ("offsets", "desc") else node.func
        return node.with_changes(func=function, args=args, whitespace_before_args=cst.SimpleWhitespace(""))

    def _names(self, use: Use, node: cst.Call) -> Sequence[str]:
        """The parameters of the call that an access is spelled as."""
        if not any(source.padding is not None for made in use.definitions for source in made.sources):
            return LOAD if use.how == "load" else STORE
        return ("desc", "offsets", "value") if self.reader.operation(node) is not None else ("offsets", "value")

    def _helper_call(self, node: cst.Call, swaps: dict[cst.CSTNode, cst.CSTNode]) -> cst.Call:
        callee = helper_of(self.module, self.kernel, node)
        assert callee is not None
        args: list[cst.Arg] = []
        space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        for argument in node.args:
            use = self.reader.uses.get(argument)
            if use is None:
                args.append(argument.with_changes(value=replaced(argument.value, swaps)))
                continue
            web = self._web(use)
            for part, name in self.functions.parameters(callee, use.parameter):
                value = cst.parse_expression(web.reference(part))
                made = _keyword(name, value) if argument.keyword is not None else cst.Arg(value)
                args.append(made.with_changes(comma=space))
            args[-1] = args[-1].with_changes(comma=argument.comma)
        return node.with_changes(args=args)


def _parameter(argument: cst.Arg, position: int, names: Sequence[str]) -> str:
    name = argument.keyword.value if argument.keyword is not None else names[position]
    return "value" if name == "val" else name


def _keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    tight = cst.SimpleWhitespace("")
    return cst.Arg(value, keyword=cst.Name(name), equal=cst.AssignEqual(tight, tight))


def _language(module: SourceModule) -> str:
    """The file's name for `triton.language`, which the lines that are added use."""
    for name, meanings in module.bindings.imported.items():
        if "triton.language" in meanings:
            return name
    for name, meanings in module.bindings.imported.items():
        if "triton" in meanings:
            return f"{name}.language"
    name = "tl"
    while name in module.bindings.imported or name in module.bindings.assigned:
        name += "_"
    module.bindings.imported[name] = ["triton.language"]
    return name
