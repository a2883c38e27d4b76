"""The form with pointers that an entry of the stage tma calls: its loops are pipelined like those of a kernel.

Launches whose tiles TMA cannot copy (misaligned rows, sequences of any lengths) take that form. What its loops ask of a
launch is filled in where launches come, at the entry, and passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import libcst as cst

from tritonport.convert.launch_flags import with_flags
from tritonport.convert.names import Names
from tritonport.convert.parameters import with_commas
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.async_copy.kernel import FileNames, with_rings
from tritonport.upgrade.async_copy.plan import KernelPlan
from tritonport.upgrade.edit import with_arguments
from tritonport.upgrade.forms import entry_of

BUFFERS = "POINTER_BUFFERS"
"""The depth of the rings of pointers: the rings of descriptors have one of their own."""


@dataclass(frozen=True)
class PlannedForm:
    """A form with pointers, the entry that calls it, and the plan of the form as if it were launched."""

    kernel: Kernel
    entry: Kernel
    plan: KernelPlan


def as_launched(module: SourceModule, kernel: Kernel) -> tuple[Kernel, Kernel] | None:
    """A form with pointers as if launches came to it, and its entry; None for another function.

    The launched one has the entry's name and decorators, and the form's parameters and body.
    """
    entry = entry_of(module, kernel)
    if entry is None or _call_of(entry, kernel) is None:
        return None
    node = entry.node.with_changes(params=kernel.node.params, body=kernel.node.body)
    return replace(entry, node=node, parameters=kernel.parameters), entry


def _call_of(entry: Kernel, kernel: Kernel) -> cst.Call | None:
    """The call of a form, if it is one and passes each argument of the entry under its own name."""
    calls = [
        node
        for node in walk(entry.node.body)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == kernel.name
    ]
    names = [one.value.value if isinstance(one.value, cst.Name) else "" for one in calls[0].args] if calls else []
    return calls[0] if len(calls) == 1 and names == [one.name for one in kernel.parameters] else None


def pipelined_form(form: PlannedForm, file: FileNames, module: cst.Module) -> Mapping[cst.CSTNode, cst.CSTNode]:
    """The form with its planned loops pipelined, and the entry that fills in what they ask for."""
    plan, kernel, entry = form.plan, form.kernel, form.entry
    taken = {item.value for node in (kernel.node, entry.node) for item in walk(node) if isinstance(item, cst.Name)}
    body, entries = with_rings(plan, Names(taken | file.taken), file, module, BUFFERS)
    constexpr = cst.Annotation(cst.parse_expression(f"{file.gl}.constexpr"))
    # The entry passes every argument, so that no default is read.
    original = [one.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT) for one in kernel.node.params.params]
    params = with_commas([*original, *(cst.Param(cst.Name(name), constexpr) for name in entries)], original)
    made = kernel.node.with_changes(body=body, params=kernel.node.params.with_changes(params=params))
    call = _call_of(entry, kernel)
    assert call is not None
    more = with_arguments(call, [*call.args, *(cst.Arg(cst.Name(name)) for name in entries)])
    chooser = entry.node.with_changes(body=replaced(entry.node.body, {call: more}))
    shared = file.helpers["launch_heuristics"]
    return {
        kernel.node: made,
        entry.node: with_flags(chooser, entry, entries, file.gl, file.triton, merge=True, shared=shared),
    }


__all__ = ["PlannedForm", "as_launched", "pipelined_form"]
