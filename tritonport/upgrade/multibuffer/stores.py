"""What a pipelined loop stores through descriptors: its tiles take shared memory beside the rings.

Each store waits until its tile has been read. Leaving its copy under way until the next iteration fills the tile again,
as Triton's pipeliner does, was measured on an H200 once the loop's small loads ran ahead: nothing was gained (linear
attention 1.087x of Triton with it, 1.086x without), and the tile is held all the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk
from tritonport.upgrade.edit import code

_STORE = re.compile(r"store_tile(_\d+)?")


def stored_descriptors(loops: Sequence[cst.For | cst.While], module: SourceModule) -> list[str]:
    """The descriptors, as source text, through which these loops store with `store_tile(desc, coord, order, value)`."""
    calls = [node for loop in loops for node in walk(loop) if isinstance(node, cst.Call) and node.args]
    paths = [dotted(call.func) or "" for call in calls]
    stores = [_STORE.fullmatch(path) is not None and path in module.bindings.functions for path in paths]
    return list(
        dict.fromkeys(code(call.args[0].value) for call, is_store in zip(calls, stores, strict=True) if is_store)
    )


__all__ = ["stored_descriptors"]
