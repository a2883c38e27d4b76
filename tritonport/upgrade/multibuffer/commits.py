"""Products in tensor memory that are over when a block goes on: their mbarrier is waited for behind them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.source.module import SourceModule
from tritonport.source.syntax import bare_call
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.multibuffer.operations import arguments, gluon_name, operation
from tritonport.upgrade.slices import names_of

_STARTS = ("tcgen05_mma", "tcgen05_mma_scaled")


def awaited_products(module: SourceModule, body: Sequence[cst.BaseStatement]) -> dict[int, int]:
    """The statements of a block that start a product, by index, and those that wait for it.

    `tcgen05_mma(..., mbarriers=[done])`, or one before a `tcgen05_commit(done)`, reads its operands until the phase
    of `done` that it completes is over: here a wait of the same block without a predicate, the first one behind it.
    """
    found: dict[int, int] = {}
    for place, statement in enumerate(body):
        call = bare_call(statement)
        if call is None or not is_product(module, call):
            continue
        signals = _signals(call)
        for later in range(place + 1, len(body)):
            following = bare_call(body[later])
            if following is not None and _last(module, following) == "tcgen05_commit" and len(following.args) == 1:
                signals |= {code(following.args[0].value)}
            elif following is not None and _waits_for(module, following, signals):
                found[place] = later
                break
            elif set(assigned_names(cst.IndentedBlock([body[later]]))) & names_of_texts(signals):
                break
    return found


def awaited_calls(module: SourceModule, body: cst.CSTNode) -> set[int]:
    """The ids of the calls in a function's body that start a product which its own block waits for."""
    found: set[int] = set()
    for block in walk(body):
        if isinstance(block, cst.IndentedBlock):
            lines = list(block.body)
            found |= {id(bare_call(lines[place])) for place in awaited_products(module, lines)}
    return found


def is_product(module: SourceModule, node: cst.CSTNode) -> bool:
    """Whether a call starts a product in tensor memory."""
    return _last(module, node) in _STARTS


def names_of_texts(texts: set[str]) -> set[str]:
    """The variables in expressions that are given as source text."""
    return set().union(*(names_of(cst.parse_expression(text)) for text in texts), set())


def _signals(call: cst.Call) -> set[str]:
    """The barriers that a product signals itself, as source text."""
    given = {one.keyword.value: one.value for one in call.args if one.keyword is not None}
    listed = given.get("mbarriers")
    if not isinstance(listed, (cst.List, cst.Tuple)) or "mbarrier_preds" in given or "pred" in given:
        return set()
    return {code(one.value) for one in listed.elements}


def _waits_for(module: SourceModule, call: cst.Call, signals: set[str]) -> bool:
    given = arguments(call, "wait") if operation(module, call) == "wait" else None
    return given is not None and "pred" not in given and code(given["mbarrier"].value) in signals


def _last(module: SourceModule, node: cst.CSTNode) -> str:
    return gluon_name(module, node).split(".")[-1]


__all__ = ["awaited_calls", "awaited_products", "is_product"]
