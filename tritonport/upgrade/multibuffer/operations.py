"""The calls of Gluon that move tiles and signal them, under the names that any Triton version has for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import libcst as cst

from tritonport.rules_data import TRITON_VERSIONS, load_api, version_key
from tritonport.source.module import SourceModule
from tritonport.source.walk import walk

_GLUON = "triton.experimental.gluon.language."
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "load": ("tensor_desc", "coord", "barrier", "result", "pred"),
    "expect": ("mbarrier", "bytes", "pred"),
    "wait": ("mbarrier", "phase", "pred", "deps"),
    "init": ("mbarrier", "count"),
    "invalidate": ("mbarrier",),
    "allocate": ("element_ty", "shape", "layout", "value"),
    "allocate_mbarrier": ("batch", "two_ctas"),
    "global_load": ("pointer", "mask", "other"),
}
"""What is called what here, and its parameters in order; `bytes` is `bytes_per_cta` from Triton 3.7 on."""
_RENAMED = {"bytes_per_cta": "bytes"}


@cache
def _tma_loads() -> frozenset[str]:
    """What the Triton versions call a copy of a tile into shared memory, without the package of an architecture."""
    entry = load_api()["descriptor.load"]
    targets = [entry.target(version) for version in TRITON_VERSIONS]
    return frozenset(".".join(target.split(".")[-2:]) for target in targets if target is not None)


def versions(module: SourceModule) -> tuple[str, str]:
    """The first and last Triton version with the names under which a file copies tiles.

    A version that brings a new name has the old one too, and no later one.
    """
    entry = load_api()["descriptor.load"]
    named = {version: ".".join((entry.target(version) or "").split(".")[-2:]) for version in TRITON_VERSIONS}
    since, until = TRITON_VERSIONS[0], TRITON_VERSIONS[-1]
    for spelled in {".".join(gluon_name(module, node).split(".")[-2:]) for node in walk(module.tree)} & _tma_loads():
        first = next(version for version in TRITON_VERSIONS if named[version] == spelled)
        later = [one for one in TRITON_VERSIONS if version_key(one) > version_key(first) and named[one] != spelled]
        since = max(since, first, key=version_key)
        until = min([until, *later[:1]], key=version_key)
    return since, until


def gluon_name(module: SourceModule, node: cst.CSTNode) -> str:
    """The name of a called Gluon function below `gluon.language`; empty for any other node."""
    if not isinstance(node, cst.Call):
        return ""
    names = (name for name in module.qualified_names(node.func) if name.startswith(_GLUON))
    return next(names, "").removeprefix(_GLUON)


def operation(module: SourceModule, node: cst.CSTNode) -> str:
    """Which operation on tiles and barriers a call is; empty for any other node."""
    name = gluon_name(module, node)
    last_two = ".".join(name.split(".")[-2:])
    if last_two in _tma_loads():
        return "load"
    if last_two.startswith("mbarrier."):
        last = last_two.removeprefix("mbarrier.")
        return last if last in ("expect", "wait", "init", "invalidate", "allocate_mbarrier") else ""
    return {"allocate_shared_memory": "allocate", "load": "global_load"}.get(name, "")


def arguments(call: cst.Call, name: str) -> dict[str, cst.Arg] | None:
    """The arguments of an operation by parameter; None where they are not spelled one by one."""
    return bound(call, _PARAMETERS[name])


def bound(call: cst.Call, parameters: tuple[str, ...]) -> dict[str, cst.Arg] | None:
    """The arguments of a call by parameter; None where they are not spelled one by one."""
    found: dict[str, cst.Arg] = {}
    for place, argument in enumerate(call.args):
        if argument.star:
            return None
        if argument.keyword is not None:
            name = argument.keyword.value
            found[_RENAMED.get(name, name)] = argument
        elif place < len(parameters):
            found[parameters[place]] = argument
        else:
            return None
    return found


__all__ = ["arguments", "bound", "gluon_name", "operation", "versions"]
