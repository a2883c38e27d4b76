"""Expressions with block pointers in them: what makes, moves and uses one; whatever else happens to one is refused."""

from __future__ import annotations

import libcst as cst

from tritonport.analysis.block_pointers.arguments import LOAD, STORE, Arguments, by_name
from tritonport.analysis.block_pointers.definitions import MIXED, Definition, Part, Place, Use
from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Refusal
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import children

_DESCRIPTOR_CALLS = ("make_tensor_descriptor", "load_tensor_descriptor", "store_tensor_descriptor")


class ExpressionReader:
    """Reads the expressions of one function.

    Attributes:
        descriptors: whether tensor descriptors that the function makes are followed too.
        environment: what each name may hold, nothing for what is no block pointer.
        definitions: by the node that makes one.
        uses: by the node that is one.
        assigned: the places that bind each name.
        places: by statement.
    """

    def __init__(self, module: SourceModule, kernel: Kernel, descriptors: bool = False) -> None:
        self.module = module
        self.kernel = kernel
        self.descriptors = descriptors
        self.environment: dict[str, frozenset[Definition]] = {}
        self.definitions: dict[cst.CSTNode, Definition] = {}
        self.uses: dict[cst.CSTNode, Use] = {}
        self.assigned: dict[str, list[Place]] = {}
        self.places: dict[cst.CSTNode, Place] = {}
        self.arguments = Arguments(module, self.assigned)
        self._place = Place(-1, ())

    def block(self, node: cst.BaseExpression) -> frozenset[Definition] | None:
        """The definitions that an expression may give, where it is a block pointer."""
        if isinstance(node, cst.Name):
            found = self.environment.get(node.value)
            if found and MIXED in found:
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
            rows[kind] = self.arguments.items(bound[name], name)
        if "base" not in bound:
            raise Refusal("TP105", f"{operation} is called without base", node)
        ranks = {len(items) for items in rows.values()}
        if len(ranks) != 1:
            raise Refusal("TP203", "shape, strides, offsets and block_shape of a block pointer differ in length", node)
        parts: dict[Part, str] = {("base", 0): self.arguments.text(bound["base"])}
        for kind, items in rows.items():
            for dim, item in enumerate(items):
                parts[kind, dim] = item
        for argument in node.args:
            self.read(argument.value)
        made = self.definitions[node] = Definition("make", self._place, node, ranks.pop(), parts)
        if is_descriptor:
            made.padding = self.arguments.padding(bound.get("padding_option"), node) or "zero"
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
            amounts = self.arguments.items(bound["offsets"], "offsets")
            if len(amounts) != rank:
                raise Refusal("TP203", f"{self.code(node)} moves {len(amounts)} of {rank} dimensions", node)
            parts = {("offset", dim): amount for dim, amount in enumerate(amounts) if amount != "0"}
            self.definitions[node] = Definition("advance", self._place, node, rank, parts)
        made = self.definitions[node]
        made.sources |= sources
        return frozenset([made])

    def read(self, node: cst.CSTNode) -> None:
        """Find the loads and stores in an expression, and refuse whatever else happens to a block pointer."""
        if isinstance(node, cst.Call):
            self._call(node)
            return
        if isinstance(node, cst.Attribute):
            found = self.block(node.value)
            if found is not None:
                self._element_type(node, found)
                return
            self.read(node.value)
            return
        if isinstance(node, cst.Name) and self.block(node) is not None:
            what = "returned" if isinstance(self._statement_at(), cst.Return) else "used"
            raise Refusal("TP110", f"the block pointer {node.value} is {what} where it cannot be followed", node)
        if isinstance(node, (cst.Arg, cst.AssignTarget)):
            self.read(node.value if isinstance(node, cst.Arg) else node.target)
            return
        for child in children(node):
            self.read(child)

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
            arguments = by_name(node, names)
            pointer = arguments.get("pointer")
            found = self.block(pointer) if pointer is not None else None
            if found is not None:
                self._access(node, operation, arguments, found)
                for name, value in arguments.items():
                    if name in ("value", "cache_modifier", "eviction_policy", "volatile"):
                        self.read(value)
                return
        elif operation in ("make_block_ptr", "make_tensor_descriptor", "advance"):
            raise Refusal("TP110", f"the block pointer {self.code(node)} is used where it cannot be followed", node)
        callee = helper_of(self.module, self.kernel, node)
        self.read(node.func)
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
                self.read(argument.value)
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
        checked = self.arguments.checked(arguments.get("boundary_check"), rank, node)
        padding = self.arguments.padding(arguments.get("padding_option"), node)
        self._use(node, Use(operation, node, self._place, found, checked, padding))

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
        arguments = by_name(node, names)
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
            amounts = self.arguments.items(offsets, "offsets")
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
                self.read(argument.value)
        return True

    def code(self, node: cst.CSTNode) -> str:
        return self.module.tree.code_for_node(node)


def helper_of(module: SourceModule, caller: Kernel, node: cst.Call) -> Kernel | None:
    """The function of this file that a call means."""
    path = dotted(node.func)
    if path is None:
        return None
    return module.bindings.kernels.get(path) or module.kernel_by_path(path, caller)
