"""Block pointers: where they are made, moved and used in a function.

`tl.make_block_ptr` and `tl.advance` are gone since Triton 3.8, so they are written out as what they stand for: a
base, a shape, strides, offsets. This module follows them through the assignments, loops and branches of one function
and decides, part by part, what a use can name directly and what has to be kept in a variable of its own.

Definitions that meet at a use form a web, which has one set of variables. A part of a web is *inline* where every
definition spells it the same way and nothing it names can change before it is used; `Web.variables` holds the names
of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Refusal
from tritonport.source.module import Kernel, SourceModule, dotted
from tritonport.source.walk import children, walk

_DESCRIPTOR_CALLS = ("make_tensor_descriptor", "load_tensor_descriptor", "store_tensor_descriptor")
LOAD = ("pointer", "mask", "other", "boundary_check", "padding_option", "cache_modifier", "eviction_policy", "volatile")
STORE = ("pointer", "value", "mask", "boundary_check", "cache_modifier", "eviction_policy")
Part = tuple[str, int]
"""A part of a block pointer: ("base", 0), ("shape", dim), ("stride", dim), ("offset", dim), ("block", dim)."""


@dataclass(frozen=True, eq=False)
class Place:
    """A position in a function: statements in source order, and the loops around."""

    number: int
    loops: tuple[cst.CSTNode, ...]


@dataclass(eq=False)
class Definition:
    """One value of a block pointer: `make`, `advance`, `copy` of another name, or a `parameter` of a helper.

    `parts` holds source text; an advance lists the amounts of the offsets that it moves. `sources` are the
    definitions that an advance or a copy starts from. `padding` is that of a tensor descriptor, which is followed
    like a block pointer at offset 0 where the target has no copy engine; None for block pointers.
    """

    how: str
    place: Place
    node: cst.CSTNode
    rank: int
    parts: dict[Part, str] = field(default_factory=dict)
    sources: frozenset[Definition] = frozenset()
    name: str = ""
    padding: str | None = None


@dataclass(eq=False)
class Use:
    """A load or a store through a block pointer, a call of a helper that takes it, or its element type."""

    how: str
    node: cst.BaseExpression
    place: Place
    definitions: frozenset[Definition]
    checked: tuple[int, ...] = ()
    padding: str = ""
    parameter: str = ""


class Reader:
    """Follows the block pointers of one function. `given` are the parameters that are block pointers, with their ranks.

    `descriptors`: follow the tensor descriptors that the function makes, too.
    """

    def __init__(self, module: SourceModule, kernel: Kernel, given: dict[str, int], descriptors: bool = False) -> None:
        self.module = module
        self.descriptors = descriptors
        self.kernel = kernel
        self.environment: dict[str, frozenset[Definition]] = {}
        self.definitions: dict[cst.CSTNode, Definition] = {}
        self.uses: dict[cst.CSTNode, Use] = {}
        self.assigned: dict[str, list[Place]] = {}
        self.places: dict[cst.CSTNode, Place] = {}
        self._number(kernel.node.body, ())
        for parameter in kernel.node.params.params:
            name = parameter.name.value
            self.environment[name] = frozenset()
            if name in given:
                made = Definition("parameter", Place(-1, ()), parameter, given[name], name=name)
                self.definitions[parameter] = made
                self.environment[name] = frozenset([made])
        self._place = Place(-1, ())
        self._suite(kernel.node.body)

    # -- places

    def _number(self, node: cst.CSTNode, loops: tuple[cst.CSTNode, ...]) -> None:
        for child in children(node):
            if isinstance(child, (cst.BaseSmallStatement, cst.If, cst.For, cst.While, cst.With)):
                inner = (*loops, child) if isinstance(child, (cst.For, cst.While)) else loops
                place = self.places[child] = Place(len(self.places), inner)
                for name in _bound(child):
                    self.assigned.setdefault(name, []).append(place)
                self._number(child, inner)
            elif isinstance(child, (cst.BaseSuite, cst.SimpleStatementLine, cst.Else)):
                self._number(child, loops)

    # -- statements

    def _suite(self, body: cst.BaseSuite) -> None:
        for statement in body.body:
            self._statement(statement)

    def _statement(self, statement: cst.CSTNode) -> None:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                self._statement(small)
            return
        if statement in self.places:
            self._place = self.places[statement]
        if isinstance(statement, cst.If):
            self._if(statement)
        elif isinstance(statement, (cst.For, cst.While)):
            self._loop(statement)
        elif isinstance(statement, cst.Assign):
            self._assign(statement)
        elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
            self._bind(statement.target, statement.value)
        elif isinstance(statement, cst.BaseSmallStatement):
            self._expressions(statement)
            self._plain(_bound(statement))

    def _plain(self, names: Iterable[str]) -> None:
        """Names that hold something else from here on."""
        for name in names:
            self.environment[name] = frozenset()

    def _if(self, statement: cst.If) -> None:
        self._expressions(statement.test)
        before = dict(self.environment)
        self._suite(statement.body)
        after = self.environment
        self.environment = before
        if isinstance(statement.orelse, cst.If):
            self._statement(statement.orelse)
        elif statement.orelse is not None:
            self._suite(statement.orelse.body)
        if _leaves(statement.body):
            return
        if statement.orelse is not None and not isinstance(statement.orelse, cst.If) and _leaves(statement.orelse.body):
            self.environment = after
            return
        self.environment = _joined(after, self.environment)

    def _loop(self, statement: cst.For | cst.While) -> None:
        self._expressions(statement.iter if isinstance(statement, cst.For) else statement.test)
        for _ in range(3):
            before = dict(self.environment)
            if isinstance(statement, cst.For):
                self._plain(_names(statement.target))
            self._suite(statement.body)
            self.environment = _joined(before, self.environment)
            if self.environment == before:
                break
        self._place = self.places[statement]

    def _assign(self, statement: cst.Assign) -> None:
        if len(statement.targets) == 1:
            self._bind(statement.targets[0].target, statement.value)
            return
        if self.block(statement.value) is not None:
            raise Refusal(
                "TP110",
                f"the block pointer {self.code(statement.value)} is assigned to several names at once",
                statement,
            )
        self._expressions(statement.value)

    def _bind(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        pairs = tuple_pairs(target, value)
        if pairs is not None:
            made = [(inner, item, self.block(item)) for inner, item in pairs]
            moved = {inner.value for inner, _, found in made if found is not None and isinstance(inner, cst.Name)}
            for index, (inner, item, found) in enumerate(made):
                others = moved - ({inner.value} if isinstance(inner, cst.Name) else set())
                if moved and index and others & {name.value for name in walk(item) if isinstance(name, cst.Name)}:
                    raise Refusal("TP110", f"{self.code(value)} exchanges block pointers", value)
                self._bind_one(inner, item, found)
            return
        self._bind_one(target, value, self.block(value))

    def _bind_one(
        self, target: cst.BaseExpression, value: cst.BaseExpression, found: frozenset[Definition] | None
    ) -> None:
        if found is None:
            self._expressions(value)
            self._plain(_names(target))
            return
        if not isinstance(target, cst.Name):
            raise Refusal("TP110", f"the block pointer {self.code(value)} is stored in {self.code(target)}", value)
        if isinstance(value, cst.Name):
            copy = self.definitions.get(value)
            if copy is None:
                rank = next(iter(found)).rank
                copy = self.definitions[value] = Definition("copy", self._place, value, rank, name=target.value)
            copy.sources |= found
            copy.padding = next(iter(found)).padding
            found = frozenset([copy])
        for definition in found:
            definition.name = target.value
        self.environment[target.value] = found

    # -- expressions

    def block(self, node: cst.BaseExpression) -> frozenset[Definition] | None:
        """The definitions that an expression may give, where it is a block pointer."""
        if isinstance(node, cst.Name):
            found = self.environment.get(node.value)
            if found and _MIXED in found:
                raise Refusal("TP110", f"{node.value} is a block pointer on some paths alone", node)
            return found or None
        if not isinstance(node, cst.Call):
            return None
        operation = self.operation(node)
        if operation in ("make_block_ptr", "make_tensor_descriptor"):
            return frozenset([self._make(node, operation)])
        if operation == "advance":
            return self._advance(node)
        return None

    def operation(self, node: cst.Call) -> str | None:
        """ "load", "store", "advance" or "make_block_ptr" for calls of them, as functions or as methods."""
        for name in self.module.qualified_names(node.func):
            head, _, last = name.rpartition(".")
            if head.startswith("triton.language") and last in ("make_block_ptr", "advance", "load", "store"):
                return last
            if self.descriptors and head.startswith("triton.language") and last in _DESCRIPTOR_CALLS:
                return last
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "advance":
            return "advance" if self.block(node.func.value) is not None else None
        return None

    def _make(self, node: cst.Call, operation: str) -> Definition:
        if node in self.definitions:
            return self.definitions[node]
        bound, _ = bind(f"tl.{operation}", node.args, None, node)
        rows: dict[str, list[str]] = {}
        is_descriptor = operation == "make_tensor_descriptor"
        for kind, name in (("shape", "shape"), ("stride", "strides"), ("offset", "offsets"), ("block", "block_shape")):
            if is_descriptor and kind == "offset":
                rows[kind] = ["0"] * len(rows["shape"])
                continue
            if name not in bound:
                raise Refusal("TP105", f"{operation} is called without {name}", node)
            rows[kind] = self._items(bound[name], name)
        if "base" not in bound:
            raise Refusal("TP105", f"{operation} is called without base", node)
        ranks = {len(items) for items in rows.values()}
        if len(ranks) != 1:
            raise Refusal("TP203", "shape, strides, offsets and block_shape of a block pointer differ in length", node)
        parts: dict[Part, str] = {("base", 0): self.text(bound["base"])}
        for kind, items in rows.items():
            for dim, item in enumerate(items):
                parts[kind, dim] = item
        for argument in node.args:
            self._expressions(argument.value)
        made = self.definitions[node] = Definition("make", self._place, node, ranks.pop(), parts)
        if is_descriptor:
            made.padding = self._padding(bound.get("padding_option"), node) or "zero"
        return made

    def _advance(self, node: cst.Call) -> frozenset[Definition]:
        method = isinstance(node.func, cst.Attribute) and not self.module.qualified_names(node.func)
        receiver = node.func.value if method and isinstance(node.func, cst.Attribute) else None
        bound, _ = bind("tl.advance", node.args, receiver, node)
        sources = self.block(bound["base"]) if "base" in bound else None
        if sources is None or "offsets" not in bound:
            raise Refusal("TP110", f"{self.code(node)} moves a block pointer that this file does not make", node)
        rank = next(iter(sources)).rank
        if node not in self.definitions:
            amounts = self._items(bound["offsets"], "offsets")
            if len(amounts) != rank:
                raise Refusal("TP203", f"{self.code(node)} moves {len(amounts)} of {rank} dimensions", node)
            parts = {("offset", dim): amount for dim, amount in enumerate(amounts) if amount != "0"}
            self.definitions[node] = Definition("advance", self._place, node, rank, parts)
        made = self.definitions[node]
        made.sources |= sources
        return frozenset([made])

    def _items(self, node: cst.BaseExpression, name: str) -> list[str]:
        if isinstance(node, (cst.Tuple, cst.List)):
            if any(isinstance(element, cst.StarredElement) for element in node.elements):
                raise Refusal("TP105", f"{name}={self.code(node)} of a block pointer", node)
            return [self.text(element.value) for element in node.elements]
        if isinstance(node, cst.Name):
            raise Refusal("TP110", f"{name}={node.value} of a block pointer is not spelled out as a tuple", node)
        return [self.text(node)]

    def _expressions(self, node: cst.CSTNode) -> None:
        """Find the loads and stores in an expression, and refuse whatever else happens to a block pointer."""
        if isinstance(node, cst.Call):
            self._call(node)
            return
        if isinstance(node, cst.Attribute):
            found = self.block(node.value)
            if found is not None:
                self._element_type(node, found)
                return
            self._expressions(node.value)
            return
        if isinstance(node, cst.Name) and self.block(node) is not None:
            what = "returned" if isinstance(self._statement_at(), cst.Return) else "used"
            raise Refusal("TP110", f"the block pointer {node.value} is {what} where it cannot be followed", node)
        if isinstance(node, (cst.Arg, cst.AssignTarget)):
            self._expressions(node.value if isinstance(node, cst.Arg) else node.target)
            return
        for child in children(node):
            self._expressions(child)

    def _statement_at(self) -> cst.CSTNode | None:
        return next((node for node, place in self.places.items() if place is self._place), None)

    def _element_type(self, node: cst.Attribute, found: frozenset[Definition]) -> None:
        if node.attr.value != "dtype":
            raise Refusal("TP110", f"{self.code(node)} of a block pointer", node)
        self._use(node, Use("type", node, self._place, found))

    def _use(self, node: cst.CSTNode, use: Use) -> None:
        known = self.uses.setdefault(node, use)
        known.definitions |= use.definitions

    def _call(self, node: cst.Call) -> None:
        if self.descriptors and self._descriptor_method(node):
            return
        operation = self.operation(node)
        if operation in ("load", "store"):
            names = LOAD if operation == "load" else STORE
            arguments = _arguments(node, names)
            pointer = arguments.get("pointer")
            found = self.block(pointer) if pointer is not None else None
            if found is not None:
                self._access(node, operation, arguments, found)
                for name, value in arguments.items():
                    if name in ("value", "cache_modifier", "eviction_policy", "volatile"):
                        self._expressions(value)
                return
        elif operation in ("make_block_ptr", "make_tensor_descriptor", "advance"):
            raise Refusal("TP110", f"the block pointer {self.code(node)} is used where it cannot be followed", node)
        callee = helper_of(self.module, self.kernel, node)
        self._expressions(node.func)
        position = 0
        for argument in node.args:
            found = self.block(argument.value)
            name = ""
            if callee is not None and argument.keyword is None and position < len(callee.parameters):
                name = callee.parameters[position].name
                position += 1
            elif argument.keyword is not None:
                name = argument.keyword.value
            if found is None:
                self._expressions(argument.value)
                continue
            if any(made.padding is not None for made in found):
                raise Refusal(
                    "TP401", f"the descriptor {self.code(argument.value)}, passed on, needs the copy engine", node
                )
            if callee is None or not name or argument.star:
                raise Refusal(
                    "TP110", f"the block pointer {self.code(argument.value)} is passed to {self.code(node.func)}", node
                )
            self._use(argument, Use("argument", node, self._place, found, parameter=name))

    def _access(
        self, node: cst.Call, operation: str, arguments: dict[str, cst.BaseExpression], found: frozenset[Definition]
    ) -> None:
        for name in ("mask", "other"):
            given = arguments.get(name)
            if given is not None and self.code(given) != "None":
                raise Refusal(
                    "TP103", f"{name}= of a {operation} through a block pointer, which Triton does not accept", node
                )
        rank = next(iter(found)).rank
        checked = self._checked(arguments.get("boundary_check"), rank, node)
        padding = self._padding(arguments.get("padding_option"), node)
        self._use(node, Use(operation, node, self._place, found, checked, padding))

    def _padding(self, node: cst.BaseExpression | None, call: cst.Call) -> str:
        text = self._constant(node) if node is not None else ""
        if not isinstance(text, str) or text not in ("", "zero", "nan"):
            raise Refusal("TP201", f"padding_option= of {self.code(call.func)} is not a constant of this file", call)
        return text

    def _descriptor_method(self, node: cst.Call) -> bool:
        """`desc.load(offsets)` and `desc.store(offsets, value)`, also as functions: accesses at those offsets, all
        checked."""
        operation = self.operation(node) or ""
        given = list(node.args)
        if operation in ("load_tensor_descriptor", "store_tensor_descriptor"):
            method = operation.partition("_")[0]
            names: tuple[str, ...] = ("desc", "offsets", "value")
        elif isinstance(node.func, cst.Attribute) and self.block(node.func.value) is not None:
            method, names = node.func.attr.value, ("offsets", "value")
        else:
            return False
        arguments = _arguments(node, names)
        receiver = arguments.get("desc") if "desc" in names else cst.ensure_type(node.func, cst.Attribute).value
        found = self.block(receiver) if receiver is not None else None
        if found is None:
            return False
        paddings = {made.padding for made in found}
        if method not in ("load", "store") or None in paddings or len(paddings) != 1:
            raise Refusal("TP401", f"{self.code(node.func)} needs the copy engine of sm_90", node)
        offsets = arguments.get("offsets")
        if offsets is None or (method == "store" and "value" not in arguments):
            raise Refusal(
                "TP105", f"{self.code(node.func)} is called without {'value' if offsets else 'offsets'}", node
            )
        rank = next(iter(found)).rank
        if offsets not in self.definitions:
            amounts = self._items(offsets, "offsets")
            if len(amounts) != rank:
                raise Refusal("TP203", f"{len(amounts)} offsets of a descriptor with {rank} dimensions", node)
            parts: dict[Part, str] = {("offset", dim): amount for dim, amount in enumerate(amounts) if amount != "0"}
            self.definitions[offsets] = Definition("advance", self._place, offsets, rank, parts)
        made = self.definitions[offsets]
        made.sources |= found
        padding = paddings.pop() if method == "load" else ""
        self._use(node, Use(method, node, self._place, frozenset([made]), tuple(range(rank)), padding or ""))
        for argument in given:
            if argument.value is not receiver:
                self._expressions(argument.value)
        return True

    def _checked(self, node: cst.BaseExpression | None, rank: int, call: cst.Call) -> tuple[int, ...]:
        if node is None:
            return ()
        items: Sequence[cst.BaseExpression]
        source = self.module.bindings.assigned.get(node.value, node) if isinstance(node, cst.Name) else node
        items = (
            [element.value for element in source.elements] if isinstance(source, (cst.Tuple, cst.List)) else [source]
        )
        dims = [self._constant(item) for item in items]
        if not items or (items[0] is source and dims in ([None], [0], [False])):
            # Triton reads a bare 0 as "nothing is checked".
            return ()
        numbers = [int(dim) for dim in dims if isinstance(dim, (int, bool))]
        if len(numbers) != len(dims) or not all(0 <= number < rank for number in numbers):
            raise Refusal(
                "TP201", f"boundary_check={self.code(node)} does not name dimensions of this block pointer", call
            )
        return tuple(sorted(set(numbers)))

    def _constant(self, node: cst.BaseExpression) -> object:
        """A literal, also behind a name of the module; the node itself where it is neither."""
        if isinstance(node, cst.Name):
            literals = {"True": True, "False": False, "None": None}
            if node.value in literals:
                return literals[node.value]
            source = self.module.bindings.assigned.get(node.value)
            if source is None or node.value in self.assigned or isinstance(source, cst.Name):
                return node
            return self._constant(source)
        if isinstance(node, cst.Call) and len(node.args) == 1 and (dotted(node.func) or "").endswith("constexpr"):
            return self._constant(node.args[0].value)
        if isinstance(node, (cst.Integer, cst.SimpleString)):
            return node.evaluated_value
        return node

    # -- text

    def code(self, node: cst.CSTNode) -> str:
        return self.module.tree.code_for_node(node)

    def text(self, node: cst.BaseExpression) -> str:
        """An expression on one line, without parentheses around the whole of it."""
        code = re.sub(r"#[^\n]*", "", self.code(node)) if "\n" in self.code(node) else self.code(node)
        code = re.sub(r"\s*\n\s*", " ", code).strip()
        if getattr(node, "lpar", None) and not isinstance(node, cst.Tuple):
            code = re.sub(r"\s*\n\s*", " ", self.code(node.with_changes(lpar=[], rpar=[]))).strip()
        return code


def helper_of(module: SourceModule, caller: Kernel, node: cst.Call) -> Kernel | None:
    """The function of this file that a call means."""
    path = dotted(node.func)
    if path is None:
        return None
    return module.bindings.kernels.get(path) or module.kernel_by_path(path, caller)


def tuple_pairs(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> list[tuple[cst.BaseExpression, cst.BaseExpression]] | None:
    """(name, value) of `a, b = x, y`."""
    if not isinstance(target, (cst.Tuple, cst.List)) or not isinstance(value, (cst.Tuple, cst.List)):
        return None
    if len(target.elements) != len(value.elements):
        return None
    return [(left.value, right.value) for left, right in zip(target.elements, value.elements, strict=True)]


def _arguments(node: cst.Call, names: Sequence[str]) -> dict[str, cst.BaseExpression]:
    """Arguments by name in the order that Triton 3.6 has, the last with block pointers."""
    found = {}
    for position, argument in enumerate(node.args):
        name = argument.keyword.value if argument.keyword is not None else None
        if name is None and position < len(names) and not argument.star:
            name = names[position]
        if name is not None:
            found["value" if name == "val" else name] = argument.value
    return found


def _bound(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.Assign):
        for target in node.targets:
            yield from _names(target.target)
    elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.For)):
        yield from _names(node.target)


def _names(target: cst.CSTNode) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _names(element.value)


def _leaves(body: cst.BaseSuite) -> bool:
    """Whether a suite ends with `return`: what it assigned is not seen below."""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], cst.Return)
    return isinstance(last, cst.Return)


def _joined(
    left: dict[str, frozenset[Definition]], right: dict[str, frozenset[Definition]]
) -> dict[str, frozenset[Definition]]:
    joined: dict[str, frozenset[Definition]] = {}
    for name in [*left, *(name for name in right if name not in left)]:
        first, second = left.get(name), right.get(name)
        if first is None or second is None:
            joined[name] = first or second or frozenset()
        else:
            joined[name] = first | second if bool(first) == bool(second) else first | second | {_MIXED}
    return joined


_MIXED = Definition("mixed", Place(-1, ()), cst.Pass(), 0)
