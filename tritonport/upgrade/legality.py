"""Which accesses a stage may change: conditions on the affine form, each with the code and the words of its refusal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Access, Axis, Form, Opaque
from tritonport.source.walk import walk
from tritonport.upgrade.dots import feeds_dot, is_dot
from tritonport.upgrade.values import path_to

NOT_AFFINE, NO_DESCRIPTOR, NO_HINT = "TP411", "TP412", "TP413"
LOOP_STAYS, COPY_STAYS = "TP301", "TP302"
_ZERO = re.compile(r"0+(\.0*)?|\.0+")
HINTS = ("cache_modifier", "eviction_policy")
"""The hints of an access for caches, in the order in which `start_cached_copy` takes them."""
MAX_TMA_RANK = 5  # cuTensorMapEncodeTiled: tensorRank


@dataclass(frozen=True)
class Reason:
    """Why an access stays as it is: the code of its page, and the condition that failed; `met`: the other access that
    it is about."""

    code: str
    text: str
    met: Access | None = None


@dataclass(frozen=True)
class Refused:
    """An access that stays as it is."""

    access: Access
    reason: Reason


def describe(access: Access) -> str:
    """`the load of a (from a_ptr)`."""
    name = f" of {access.target}" if access.target else ""
    base = f" ({'to' if access.kind == 'store' else 'from'} {access.base})" if access.base else ""
    return f"the {access.kind}{name}{base}"


def considered(stage: str, access: Access) -> bool:
    """Whether a stage is about an access at all."""
    if stage == "async-copy":
        return access.kind == "load" and bool(access.loops) and _rank(access) != 0 and feeds_a_dot(access)
    if access.kind == "load" and not (access.target and feeds_dot(access.target, _lines_behind(access))):
        return False  # of the loads those of the tiles that dots read
    return access.kind in ("load", "store") and _rank(access) not in (0, 1)


def _lines_behind(access: Access) -> list[cst.BaseStatement]:
    """The statements that may read what a load brings: those behind it, and in a loop all of them."""
    body = access.kernel.node.body
    if access.loops or not isinstance(body, cst.IndentedBlock):
        return list(_lines(body))
    return [line for statements, place in path_to(access.node, body) or () for line in statements[place:]]


def _lines(body: cst.BaseSuite) -> Iterator[cst.BaseStatement]:
    return (line for line in body.body if isinstance(line, cst.BaseStatement))


def feeds_a_dot(access: Access) -> bool:
    """Whether a dot of the innermost loop reads the load, or what is computed from it."""
    body = access.loops[-1].node.body
    lines = list(body.body) if isinstance(body, cst.IndentedBlock) else []
    if access.target:
        return feeds_dot(access.target, lines)
    return any(
        is_dot(call) and any(node is access.node for node in walk(call)) for line in lines for call in walk(line)
    )


def reasons(stage: str, access: Access) -> list[Reason]:
    """The conditions of a stage that an access fails; empty where it may change."""
    return list(_async_copy(access) if stage == "async-copy" else _tma(access))


def unit_stride(axis: Axis | None) -> tuple[bool, str | None]:
    """Whether neighbours along an axis can be neighbours in memory, and the argument that has to be 1 for it."""
    if axis is None:
        return False, None
    if axis.stride.value == 1:
        return True, None
    if len(axis.stride.terms) == 1:
        monomial, factor = axis.stride.terms[0]
        if factor == 1 and len(monomial) == 1 and monomial[0].isidentifier():
            return True, monomial[0]
    return False, None


def _rank(access: Access) -> int | None:
    return access.address.rank if isinstance(access.address, Form) else None


def _affine(access: Access) -> Iterator[Reason]:
    if isinstance(access.address, Opaque):
        yield Reason(NOT_AFFINE, f"its address is not affine: {access.address.reason}")
    elif access.base is None:
        yield Reason(NOT_AFFINE, "its address starts at no argument of the kernel")


def _async_copy(access: Access) -> Iterator[Reason]:
    loop = access.loops[-1]
    if loop.kind != "range":
        yield Reason(COPY_STAYS, f"its loop is a {loop.kind} loop, whose trip count is not known ahead")
    if access.branch:
        yield Reason(COPY_STAYS, "it stands under an if in the loop")
    yield from _affine(access)
    form = access.address
    if not isinstance(form, Form):
        return
    if form.rank < 2:
        yield Reason(COPY_STAYS, "it is a vector, and only tiles of two dimensions and more are copied")
        return
    if not any(unit_stride(axis)[0] for axis in form.axes):
        yield Reason(COPY_STAYS, "no dimension of the tile is contiguous, so no thread has 4 bytes in one piece")
    if _keyword(access, "volatile"):
        yield Reason(COPY_STAYS, "it is volatile")


def _tma(access: Access) -> Iterator[Reason]:
    yield from _affine(access)
    form = access.address
    if not isinstance(form, Form):
        return
    if form.rank > MAX_TMA_RANK:
        yield Reason(NO_DESCRIPTOR, f"it has {form.rank} dimensions, and a descriptor {MAX_TMA_RANK}")
    if access.fill not in ("none", "any") and not _ZERO.fullmatch(access.fill):
        yield Reason(NO_DESCRIPTOR, f"masked elements are {access.fill}, and a descriptor fills in zero")


def _keyword(access: Access, name: str) -> bool:
    for argument in access.node.args:
        if argument.keyword is not None and argument.keyword.value == name:
            return not (isinstance(argument.value, cst.Name) and argument.value.value == "False")
    return False


__all__ = ["COPY_STAYS", "LOOP_STAYS", "Reason", "Refused", "considered", "describe", "reasons", "unit_stride"]
