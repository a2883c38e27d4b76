"""What a launch makes a descriptor of, as the text of its heuristic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tritonport.analysis.access.forms import ALWAYS
from tritonport.source.kernel import Kernel
from tritonport.upgrade.tma.boxes import Side
from tritonport.upgrade.tma.plan import Tile
from tritonport.upgrade.tma.terms import HostNames, as_operand, meanings
from tritonport.upgrade.tma.ways import asked


def descriptor_text(
    tile: Tile, kernel: Kernel, triton: str, helpers: Mapping[str, str], conditions: Sequence[str]
) -> str:
    """`tile_descriptor(args["a_ptr"], [args["M"], args["K"]], [args["stride_am"], 1], [args["BLOCK_M"], ...])`.

    An extent of None is one that nothing bounds. `conditions`: what has to hold of the launch.
    """
    host = HostNames(kernel, triton, {tile.box.base}, meanings(tile.access.kernel, [tile.access]))
    if tile.lying is not None and tile.choice is not None:
        texts = [descriptor_text(one, kernel, triton, helpers, conditions) for one in tile.lying.tiles]
        first, second = (f"({text})" if " if " in text else text for text in texts)
        return f"{first} if {host.source(tile.choice.test)} else {second}"
    sides = _ordered(tile)
    extents = [_extent(side, host) for side in sides]
    if tile.choice is not None:
        others = [_extent(side, host) for side in _ordered(replace(tile, box=tile.choice.box))]
        chosen = zip(extents, others, strict=True)
        test = host.source(tile.choice.test)
        extents = [one if one == other else f"{one} if {test} else {other}" for one, other in chosen]
    strides = [host.text(side.stride) for side in sides]
    block = [host.source(side.size) for side in sides]
    pointer = f'args["{tile.box.base}"]'
    lists = ", ".join(f"[{', '.join(items)}]" for items in (extents, strides, block))
    options = [", either_order=True"] if tile.order is None else []
    options += [", stored=True"] if tile.access.kind == "store" else []
    text = f"{helpers['tile_descriptor']}({pointer}, {lists}{''.join(options)})"
    checked = (f"{one} >= 0" if one.isidentifier() else one for one in tile.box.checked)
    tests = list(dict.fromkeys([*conditions, *(host.source(one) for one in checked)]))
    tests = [as_operand(test) if len(tests) > 1 else test for test in tests]
    return f"{text} if {' and '.join(tests)} else None" if tests else text


def _ordered(tile: Tile) -> list[Side]:
    inner = tile.box.inner
    order = tile.order if tile.order is not None else range(len(inner))
    return [*tile.box.outer, *(inner[place] for place in order)]


def _extent(side: Side, host: HostNames) -> str:
    always = [host.text(extent.size) for extent in side.extents if extent.when == ALWAYS]
    some = [extent for extent in side.extents if extent.when != ALWAYS]
    if some:
        bounded = _least([*always, *(host.text(extent.size) for extent in some)])
        return f"{bounded} if {asked(some[0].when, host)} else {_least(always) if always else None}"
    if always:
        return _least(always)
    # A tile that begins at zero ends where its block does.
    return host.source(side.size) if side.coordinate.value == 0 else "None"


def _least(parts: Sequence[str]) -> str:
    parts = list(dict.fromkeys(parts))
    return parts[0] if len(parts) == 1 else f"min({', '.join(parts)})"


__all__ = ["descriptor_text"]
