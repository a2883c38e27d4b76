"""Calls of helpers: arguments in the layouts that the Gluon version takes, and the layouts that it has to be given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.convert.assignments import AssignmentWriter
from tritonport.convert.syntax import join_arguments, keyword
from tritonport.convert.wants import Want, known, tensor_layouts


def helper_call(writer: AssignmentWriter, node: cst.Call, want: Want | None) -> cst.BaseExpression:
    """The call of a helper's Gluon version, converted to the layout that is wanted.

    Raises:
        Inconsistent: the frames that reach the call need different versions.
        Refusal: the helper cannot be written.
    """
    callees = [frame.calls.get(node) for frame in writer.frames]
    reached = [frame for frame in callees if frame is not None]
    callee = reached[0].kernel
    asked = writer.answered(node, callee)
    if asked is not None:
        return asked
    written = writer.module.helper(callee, reached)
    shared = written.shared_for(callees)
    arguments: list[cst.Arg] = []
    given: dict[str, cst.BaseExpression] = {}
    for name, argument in _by_parameter(node, [parameter.name for parameter in callee.parameters]):
        if name is None:
            value = writer.emit(argument.value)
        else:
            given[name] = argument.value
            value = _argument(writer, argument.value, name, callees, shared.get(name))
        arguments.append(argument.with_changes(value=value))
    extra = [(copy, writer.emit(given[name], layout)) for name, layout, copy in written.again_for(callees)]
    extra += [
        (name, cst.parse_expression(writer.layout_text(layout)))
        for name, layout in written.slots_for(callees)
        if known(layout) is not None
    ]
    added = [keyword(name, value) for name, value in extra]
    function = writer.module.helper_function(node, callee, written)
    call = node.with_changes(func=function, args=join_arguments(arguments, added))
    result = writer.first(node)
    if result is None or not result.is_tensor:
        return call
    values = writer.values(node)
    have: Want = tuple(found.term if found is not None else None for found in values)
    return writer.coerce(call, have, want, values)


def _by_parameter(node: cst.Call, names: Sequence[str]) -> Iterator[tuple[str | None, cst.Arg]]:
    """The arguments of a call with the parameters that they are for; None for `*args`."""
    places = iter(names)
    for argument in node.args:
        if argument.keyword is not None:
            yield argument.keyword.value, argument
        else:
            yield None if argument.star else next(places), argument


def _argument(
    writer: AssignmentWriter,
    node: cst.BaseExpression,
    name: str,
    callees: Sequence[Frame | None],
    shared: tuple[int, Want] | None,
) -> cst.BaseExpression:
    """One argument as the helper takes it: `shared` says as which operand of dots, where that is in shared memory."""
    if shared is not None:
        return writer.staged_argument(node, *shared)
    values = [frame.parameters[name].value if frame is not None else None for frame in callees]
    items = [value.items if value is not None else () for value in values]
    if isinstance(node, (cst.Tuple, cst.List)) and any(items):
        return writer.spelled(node, items)
    return writer.emit(node, known(tensor_layouts(values)))
