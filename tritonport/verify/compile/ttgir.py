"""Layout conversions of a compiled kernel, read from its final TTGIR with the compiler's own bindings.

Runs in the compile process only: a text the parser refuses may end it.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from tritonport.verify.compile.resources import LayoutConversion

_LOCATION = re.compile(r'"([^"]+\.py)":(\d+)(?::(\d+))?')
_LOOPS = frozenset({"scf.for", "scf.while"})


def _builder(context: Any, target: Any) -> Any:
    from triton._C.libtriton import gluon_ir

    try:
        return gluon_ir.GluonOpBuilder(context, str(target.arch))
    except TypeError:  # Triton < 3.8 takes the context alone
        return gluon_ir.GluonOpBuilder(context)


def _regions_around(op: Any) -> list[int]:
    """Identities of the regions that enclose `op`, innermost first."""
    block = op.get_block()
    region = block.get_parent() if block is not None else None
    identities = []
    while region is not None:
        identities.append(region.id())
        region = region.get_parent_region()
    return identities


def _describe(builder: Any, value: Any) -> str:
    try:
        return str(builder.get_gluon_layout_from_tensor(value))
    except Exception:  # not every encoding has a Gluon class; its MLIR name is still of use
        return str(value.get_type())


def _tensor(kind: str) -> str:
    """``tensor<128x64xf32, #blocked>`` -> ``128x64xf32``."""
    return kind.removeprefix("tensor<").split(",")[0].rstrip(">")


def conversions(text: str, target: Any) -> tuple[tuple[LayoutConversion, ...], int]:
    """The conversions that move data, and the number of those that are free.

    A conversion is free when the compiler finds that its minimal linear layout moves nothing out of a thread: the
    two layouts are one linear layout, or differ in the order of a thread's registers. This is the compiler's own
    test for ``gl.convert_layout(..., assert_trivial=True)``. A conversion in a function that is called, not inlined,
    from inside a loop counts as inside the loop.
    """
    if "ttg.convert_layout" not in text:
        return (), 0
    from triton._C.libtriton import ir
    from triton.compiler.compiler import make_backend

    context = ir.context()
    ir.load_dialects(context)
    make_backend(target).load_dialects(context)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ttgir"
        path.write_text(text)
        module = ir.parse_mlir_module(str(path), context)
    module.context = context
    builder = _builder(context, target)
    loops: set[int] = set()
    function_regions: dict[str, int] = {}
    calls: list[tuple[str, list[int]]] = []
    converts: list[tuple[Any, list[int]]] = []

    def visit(op: Any) -> None:
        name = op.get_name()
        if name in _LOOPS:
            loops.update(op.get_region(i).id() for i in range(op.get_num_regions()))
        elif name == "tt.func" and (symbol := op.get_str_attr("sym_name")):
            function_regions[symbol] = op.get_region(0).id()
        elif name == "tt.call":
            calls.append((op.get_flat_symbol_ref_attr("callee") or "", _regions_around(op)))
        elif name == "ttg.convert_layout":
            converts.append((op, _regions_around(op)))

    module.walk(visit)
    changed = True
    while changed:
        changed = False
        for callee, around in calls:
            body = function_regions.get(callee)
            if body is not None and body not in loops and loops.intersection(around):
                loops.add(body)
                changed = True

    moving, free = [], 0
    for op, around in converts:
        source, result = op.get_operand(0), op.get_result(0)
        if builder.is_convert_layout_trivial(result.get_type(), source):
            free += 1
            continue
        place = _LOCATION.findall(str(result.get_loc()))
        path_name, line = (place[-1][0], int(place[-1][1])) if place else ("", 0)
        moving.append(
            LayoutConversion(
                tensor=_tensor(str(result.get_type())),
                source=_describe(builder, source),
                destination=_describe(builder, result),
                in_loop=bool(loops.intersection(around)),
                path=path_name,
                line=line,
            )
        )
    return tuple(moving), free
