"""What a loop runs over: Triton's `tl.range`, whose hints only Triton's own pipeliner reads."""

from __future__ import annotations

import libcst as cst

from tritonport.analysis.globals import language_entry
from tritonport.analysis.signatures import signature
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.syntax import separated
from tritonport.source.module import SourceModule

_BOUNDS = ("arg1", "arg2", "step")


def iterable(writer: ExpressionWriter, node: cst.BaseExpression) -> tuple[cst.BaseExpression, str]:
    """What a loop runs over in the output, and what is to be said of it.

    `tl.range` is `range` unless it carries hints: those stay, and are said.
    """
    if not isinstance(node, cst.Call):
        return writer.emit(node), ""
    module = writer.module
    arguments = [argument.with_changes(value=writer.emit(argument.value)) for argument in node.args]
    qualified = module.reading.qualified_names(node.func)
    entry = next((language_entry(name) for name in qualified if name.startswith("triton.language")), None)
    if entry is None or entry.short != "range":
        return node.with_changes(func=module.language_name(node.func), args=arguments), ""
    hints = _hints(module.reading, node, signature(entry.name).names)
    if hints:
        said = f"{', '.join(hints)} {'is a hint' if len(hints) == 1 else 'are hints'} that Gluon does not act on"
        return node.with_changes(args=arguments), said
    bounds = _by_position(arguments)
    if bounds is None:
        return node.with_changes(args=arguments), ""
    function = node.func if module.is_bound("range") else cst.Name("range")
    return node.with_changes(func=function, args=bounds), ""


def _hints(module: SourceModule, node: cst.Call, names: tuple[str, ...]) -> list[str]:
    """The arguments of a call of `tl.range` that are no bounds, each as text on one line: it goes into a comment."""
    positional = [argument for argument in node.args if argument.keyword is None]
    given = [(name, argument) for name, argument in zip(names, positional, strict=False)]
    given += [(argument.keyword.value, argument) for argument in node.args if argument.keyword is not None]
    return [
        f"{name}={' '.join(module.tree.code_for_node(argument.value).split())}"
        for name, argument in given
        if name not in _BOUNDS
    ]


def _by_position(arguments: list[cst.Arg]) -> list[cst.Arg] | None:
    """The bounds of `tl.range` as `range` takes them, without names; None where they cannot be ordered."""
    by_name = {argument.keyword.value: argument for argument in arguments if argument.keyword is not None}
    if not by_name:
        return arguments
    ordered = [argument for argument in arguments if argument.keyword is None]
    count = len(arguments)
    if "step" in by_name and "arg2" not in by_name and len(ordered) + ("arg1" in by_name) == 1:
        # `tl.range(n, step=2)` starts at 0: the one bound is the end.
        by_name["arg2"] = by_name.pop("arg1") if not ordered else ordered.pop()
        ordered.append(cst.Arg(cst.Integer("0")))
        count += 1
    for name in _BOUNDS[len(ordered) :]:
        if name in by_name:
            ordered.append(by_name[name].with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT))
    return separated(ordered) if len(ordered) == count else None
