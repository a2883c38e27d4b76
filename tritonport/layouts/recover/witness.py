"""What the compiler made of every expression of a kernel, read from its IR with its own bindings.

Runs in a child process alone: a text that the parser refuses may end it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tritonport.layouts.recover.claims import Chain
from tritonport.layouts.recover.locations import chains

_TENSOR = re.compile(r"tensor<((?:\d+x)*)([^,]+(?:<[^>]*>)?)(?:, .*)?>$", re.DOTALL)
_MAX_DEPTH = 16

Linear = tuple[tuple[tuple[int, ...], ...], ...]
"""The bases of a linear layout: of registers, lanes, warps and blocks, each the coordinates that one bit adds."""


@dataclass(frozen=True)
class Seen:
    """One result of one operation.

    Attributes:
        op: the operation, `tt.load`.
        shape: sizes, outermost first; None for a scalar.
        element: the type of its elements in MLIR's words, `bf16`; of a pointer `!tt.ptr<bf16>`.
        layout: as a Gluon object; None where there is none.
        linear: the layout as a map; None where the compiler cannot say.
    """

    op: str
    shape: tuple[int, ...] | None
    element: str
    layout: Any = None
    linear: Linear | None = None


def parse_type(text: str) -> tuple[tuple[int, ...] | None, str]:
    """Shape and element type of an MLIR type: `tensor<4x8x!tt.ptr<f16>, #blocked>` is ((4, 8), "!tt.ptr<f16>")."""
    match = _TENSOR.match(text)
    if match is None:
        return None, text
    return tuple(int(size) for size in match[1].split("x") if size), match[2].strip()


class Compiler:
    """The compiler's own notion of layouts, for one target."""

    def __init__(self, target: Any) -> None:
        from triton._C.libtriton import gluon_ir, ir
        from triton.compiler.compiler import make_backend

        self.context = ir.context()
        ir.load_dialects(self.context)
        make_backend(target).load_dialects(self.context)
        try:
            self.builder = gluon_ir.GluonOpBuilder(self.context, str(target.arch))
        except TypeError:  # Triton < 3.8 takes the context alone
            self.builder = gluon_ir.GluonOpBuilder(self.context)

    def parse(self, text: str) -> Any:
        """A module of the IR."""
        from triton._C.libtriton import ir

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.mlir"
            path.write_text(text)
            module = ir.parse_mlir_module(str(path), self.context)
        module.context = self.context
        return module

    def linear(self, layout: Any, shape: tuple[int, ...]) -> Linear:
        """A Gluon layout of a tensor of this shape as a map from register, lane, warp and block to element."""
        return bases(self.linear_layout(layout, shape))

    def linear_layout(self, layout: Any, shape: tuple[int, ...]) -> Any:
        """The same as Gluon's own object."""
        return self.builder.to_linear_layout(layout._to_ir(self.builder), list(shape))

    def layout_of(self, value: Any) -> Any | None:
        """The Gluon layout of a value of the IR; None where Gluon has none for it."""
        try:
            return self.builder.get_gluon_layout_from_tensor(value)
        except Exception:  # what the binding throws at an encoding that it does not know differs between versions
            return None


def bases(linear: Any) -> Linear:
    """The bases of Gluon's `DistributedLinearLayout`."""
    kinds = (linear.reg_bases, linear.lane_bases, linear.warp_bases, linear.block_bases)
    return tuple(tuple(tuple(int(at) for at in base) for base in kind) for kind in kinds)


@dataclass
class _Function:
    operations: list[tuple[list[Chain], Seen, str]] = field(default_factory=list)
    """In the order of the program: where, what, and the function that is called, if any."""


def read(compiler: Compiler, text: str) -> Mapping[Chain, list[Seen]]:
    """Every result in a module's kernel by the expression it was made for, in the order of the program.

    Functions that are called count as written out where they are called, if they give something back: the bindings do
    not say where a call without a result stands.
    """
    module = compiler.parse(text)
    functions: dict[str, _Function] = {}
    stores = iter(_store_locations(text))
    current: dict[int, str] = {}
    public: list[str] = []

    def name_of(op: Any) -> str:
        """The function around an operation."""
        block = op.get_block()
        region = block.get_parent() if block is not None else None
        outermost = None
        while region is not None and region.get_parent_region() is not None:
            outermost, region = region, region.get_parent_region()
        return current.get(outermost.id(), "") if outermost is not None else ""

    def visit_function(op: Any) -> None:
        if op.get_name() == "tt.func":
            symbol = op.get_str_attr("sym_name")
            functions[symbol] = _Function()
            current[op.get_region(0).id()] = symbol
            if op.get_str_attr("sym_visibility") != "private":
                public.append(symbol)

    def visit(op: Any) -> None:
        function = functions.get(name_of(op))
        if function is None:
            return
        if op.get_name() == _STORE:
            # What is stored through, since every operand has its layout.
            seen = _seen(compiler, _STORE, op.get_operand(0))
            function.operations.append((next(stores, []), seen, ""))
        callee = (op.get_flat_symbol_ref_attr("callee") or "") if op.get_name() == "tt.call" else ""
        for index in range(op.get_num_results()):
            value = op.get_result(index)
            where = chains(str(value.get_loc()))
            function.operations.append((where, _seen(compiler, op.get_name(), value), callee))
            callee = ""

    module.walk(visit_function)
    module.walk(visit)
    found: dict[Chain, list[Seen]] = {}
    for symbol in public:
        for chain, seen in _inlined(functions, symbol, (), 0):
            found.setdefault(tuple((_real(path), line, number) for path, line, number in chain), []).append(seen)
    return found


@cache
def _real(path: str) -> str:
    return os.path.realpath(path)


# Operations without a result whose place is read from the text: the bindings do not tell the location of one.
_STORE = "tt.store"
_STORE_LINE = re.compile(rf"^\s*{re.escape(_STORE)} .*?loc\((#\w+|.*)\)\s*$", re.MULTILINE)
_ALIAS = re.compile(r"^(#loc\d*) = (loc\(.*\))$", re.MULTILINE)


def _store_locations(text: str) -> list[list[Chain]]:
    """Where each store of a module stands, in the order of the text."""
    aliases = dict(_ALIAS.findall(text))

    def expanded(location: str) -> str:
        return re.sub(r"#loc\d*", lambda match: expanded(aliases.get(match[0], "loc(unknown)")), location)

    return [chains(expanded(location)) for location in _STORE_LINE.findall(text)]


def _seen(compiler: Compiler, op: str, value: Any) -> Seen:
    shape, element = parse_type(str(value.get_type()))
    layout = compiler.layout_of(value) if shape else None
    if layout is None or shape is None:
        return Seen(op, shape, element)
    try:
        linear = compiler.linear(layout, shape)
    except Exception:  # as in layout_of
        linear = None
    return Seen(op, shape, element, layout, linear)


def _inlined(
    functions: Mapping[str, _Function], symbol: str, around: Chain, depth: int
) -> Iterator[tuple[Chain, Seen]]:
    if symbol not in functions or depth > _MAX_DEPTH:
        return
    for where, seen, callee in functions[symbol].operations:
        for chain in where:
            if callee:
                yield from _inlined(functions, callee, (*chain, *around), depth + 1)
            yield (*chain, *around), seen


__all__ = ["Compiler", "Linear", "Seen", "bases", "parse_type", "read"]
