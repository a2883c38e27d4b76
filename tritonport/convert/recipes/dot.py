"""Dots: one call of an emitted function that puts the operands where the tensor cores read them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.operations.dots import DEFAULT
from tritonport.analysis.signatures import bind
from tritonport.analysis.terms import same
from tritonport.analysis.values import Refusal, Value
from tritonport.convert.dot_calls import is_zeros, uncast, without_casts
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import plain, receiver_of
from tritonport.convert.recipes.descriptor import shared_operand
from tritonport.convert.snippets import family
from tritonport.convert.syntax import keyword
from tritonport.convert.wants import Want, result_of

_SCALED = ("lhs", "lhs_scale", "lhs_format", "rhs", "rhs_scale", "rhs_format")
_SCALED_FLAGS = ("fast_math", "lhs_k_pack", "rhs_k_pack")


@recipe("dot")
def dot(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    if focus is None:
        return None
    bound, _ = bind("tl.dot", node.args, receiver_of(writer, node), node)
    acc = _accumulator(writer, bound)
    return written_dot(writer, bound, values, focus, None if acc is None else writer.operand(acc, values, focus))


def _accumulator(writer: ExpressionWriter, bound: dict[str, cst.BaseExpression]) -> cst.BaseExpression | None:
    """The tile that a call gives its dot to add to."""
    acc = bound.get("acc")
    given = writer.first(acc) if acc is not None else None
    return acc if given is not None and given.is_tensor else None


@recipe("dot_scaled")
def dot_scaled(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """`dot_scaled(a, a_scale, "e2m1", b, b_scale, "e4m3", acc)`, or `dot_scaled_new(..., layout)` without `acc`."""
    if focus is None:
        return None
    bound, _ = bind("tl.dot_scaled", node.args, receiver_of(writer, node), node)
    acc = _accumulator(writer, bound)
    arguments = [plain(writer.argument(bound[name], values, focus)) for name in _SCALED]
    if acc is not None:
        function, last = "dot_scaled", writer.operand(acc, values, focus)
    else:
        function, last = "dot_scaled_new", cst.parse_expression(writer.layout_text(focus))
    arguments.append(plain(last))
    arguments += [keyword(name, writer.emit(bound[name])) for name in _SCALED_FLAGS if name in bound]
    value = next(found for found in values if found is not None)
    if value.dot is not None and "scaled_type" in "".join(value.dot.element):
        writer.module.snippets.add("scaled_type")
    return writer.module.snippet_call(function, arguments)


def added_dot(
    writer: ExpressionWriter,
    addition: Sequence[Value | None],
    accumulator: cst.BaseExpression,
    call: cst.BaseExpression,
    focus: Want | None,
) -> cst.BaseExpression | None:
    """`acc + tl.dot(a, b)` as `dot(a, b, acc)`: Triton's compiler adds inside the instruction, which rounds otherwise.

    `dot_plus(a, b, acc, layout)` where `acc` is not known to be a tile of the type and shape of the result: its type
    decides when the kernel is compiled, as in Triton's pattern (`CombineDotAddFPattern`).
    `call` may be a variable that holds a dot for this addition alone, or a cast that does nothing to one. None where
    the addition is something else: an accumulator already given, no dot.
    """
    written_as = writer.moved.calls.get(call, call)
    call = without_casts(written_as, writer.frames)
    if focus is None or not isinstance(call, cst.Call) or not _may_add(writer, addition, call):
        return None
    values = writer.values(call)
    bound, _ = bind("tl.dot", call.args, receiver_of(writer, call), call)
    dot_focus = writer.focus(values, None)
    summed = writer.operand(accumulator, addition, dot_focus)
    if call is not written_as and not (
        "out_dtype" in bound or all(value is None or _is_float(value) for value in values)
    ):
        # The dot of what is read may be one of integers after all.
        written = _dot_plus(writer, "float_dot_plus", bound, values, dot_focus, summed)
    elif _is_alike(writer, values, accumulator):
        written = written_dot(writer, bound, values, dot_focus, summed, added=True)
    else:
        written = _dot_plus(writer, "dot_plus", bound, values, dot_focus, summed)
    return writer.coerce(written, result_of(values, dot_focus), result_of(addition, focus))


def sides_of_sum(
    writer: ExpressionWriter, left: cst.BaseExpression, right: cst.BaseExpression
) -> Sequence[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """What may be added to, and the dot that may add to it, in the order in which Triton's compiler looks: a right
    side that is a dot decides, whether it can add or not."""
    values = [value for value in writer.values(right) if value is not None]
    if values and all(uncast(value).op == "dot" for value in values):
        return ((left, right),)
    return ((left, right), (right, left))


def _may_add(writer: ExpressionWriter, addition: Sequence[Value | None], call: cst.Call) -> bool:
    """Whether a call is a dot that Triton's compiler may add something to inside the instruction: it starts from
    nothing, and its result has all dimensions of the sum."""
    if "dot" not in writer.operations(call):
        return False
    bound, _ = bind("tl.dot", call.args, receiver_of(writer, call), call)
    return (
        not _limit(writer, bound)
        and (bound.get("acc") is None or _is_zero(writer.values(bound["acc"])))
        and all(
            found is None or (result is not None and found.rank == result.rank)
            for found, result in zip(writer.values(call), addition, strict=True)
        )
    )


def _is_zero(values: Sequence[Value | None]) -> bool:
    """Whether a tile is known to be one of zeros."""
    return all(value is None or is_zeros(value) for value in values)


def _is_alike(writer: ExpressionWriter, dots: Sequence[Value | None], accumulator: cst.BaseExpression) -> bool:
    """Whether what is added to a dot is known to be a tile of the type and shape of its result."""
    dot = next((found for found in dots if found is not None), None)
    held = writer.first(accumulator)
    if dot is None or held is None or not held.is_tensor or held.element != dot.element:
        return False
    return [size.is_one for size in held.shape] == [size.is_one for size in dot.shape]


def _dot_plus(
    writer: ExpressionWriter,
    function: str,
    bound: dict[str, cst.BaseExpression],
    values: Sequence[Value | None],
    focus: Want,
    addend: cst.BaseExpression,
) -> cst.BaseExpression:
    """`dot_plus(a, b, addend, layout)` or the like, with precision and type of the sums where the call names them."""
    precision = _precision(values)
    layout = cst.parse_expression(writer.layout_text(focus))
    arguments = [*_operands(writer, bound, values, focus), plain(addend), plain(layout)]
    if precision != DEFAULT:
        arguments.append(keyword("precision", cst.parse_expression(precision)))
    if "out_dtype" in bound:
        arguments.append(keyword("dtype", writer.emit(bound["out_dtype"])))
    return writer.module.snippet_call(function, arguments)


def _is_float(dot: Value) -> bool:
    """Whether a dot is known to be one of floats."""
    return dot.dot is not None and all(text.startswith(("gl.float", "gl.bfloat")) for text in dot.dot.element)


def _is_wide(element: Sequence[str]) -> bool:
    """Whether operands are known not to be fp8."""
    return any(text.startswith(("gl.float16", "gl.bfloat", "gl.float32", "gl.float64", "gl.int")) for text in element)


def _adds(
    writer: ExpressionWriter,
    addition: Sequence[Value | None],
    accumulator: cst.BaseExpression,
    call: cst.BaseExpression,
) -> bool:
    """Whether Triton's compiler is known to make the addition part of the dot, and the sum stays in its layout."""
    call = writer.moved.calls.get(call, call)
    if not isinstance(call, cst.Call) or not _may_add(writer, addition, call):
        return False
    values = writer.values(call)
    return _is_alike(writer, values, accumulator) and not any(
        found is not None
        and (result is None or found.focus is None or result.focus is None or not same(found.term, result.term))
        for found, result in zip(values, addition, strict=True)
    )


def _limit(writer: ExpressionWriter, bound: dict[str, cst.BaseExpression]) -> int | None:
    """`max_num_imprecise_acc`, where the call has it."""
    given = bound.get("max_num_imprecise_acc")
    value = writer.first(given) if given is not None else None
    return value.known if value is not None and isinstance(value.known, int) else None


def accumulated(writer: ExpressionWriter, binding: cst.Assign | cst.AugAssign) -> cst.BaseExpression | None:
    """What an assignment adds a dot to: `acc` of `acc = tl.dot(a, b, acc)`, `acc = acc + tl.dot(a, b)`, `acc += ...`.

    None where it does something else.
    """
    value = binding.value
    if isinstance(binding, cst.AugAssign):
        adds = isinstance(binding.operator, cst.AddAssign)
        sides = sides_of_sum(writer, binding.target, value) if adds else ()
        return next((acc for acc, call in sides if _adds(writer, writer.values(binding), acc, call)), None)
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        sides = sides_of_sum(writer, value.left, value.right)
        return next((acc for acc, call in sides if _adds(writer, writer.values(value), acc, call)), None)
    found = {"dot", "dot_scaled"} & writer.operations(value) if isinstance(value, cst.Call) else set()
    if not isinstance(value, cst.Call) or not found:
        return None
    bound, _ = bind(f"tl.{found.pop()}", value.args, receiver_of(writer, value), value)
    return _accumulator(writer, bound)


def _precision(values: Sequence[Value | None]) -> str:
    """The precision of a dot as source text."""
    return next(value.dot.precision for value in values if value is not None and value.dot is not None)


def _operands(
    writer: ExpressionWriter, bound: dict[str, cst.BaseExpression], values: Sequence[Value | None], focus: Want
) -> list[cst.Arg]:
    """The two tiles that a dot multiplies, in shared memory where they were put there further up."""
    precision = _precision(values)
    # Several dots take their operands apart, in registers.
    may_stage = precision not in ('"tf32x3"', '"bf16x3"', '"bf16x6"')
    operands = []
    for index, name in enumerate(("input", "other")):
        staged = shared_operand(writer, bound[name])
        if staged is None and may_stage:
            staged = writer.staged_operand(bound[name], index, focus, "" if precision == DEFAULT else precision)
        operands.append(plain(staged or writer.operand(bound[name], values, focus)))
    return operands


def written_dot(
    writer: ExpressionWriter,
    bound: dict[str, cst.BaseExpression],
    values: Sequence[Value | None],
    focus: Want,
    accumulator: cst.BaseExpression | None,
    added: bool = False,
) -> cst.BaseExpression:
    """`dot(a, b, acc)`, or `dot_new(a, b, layout)` where the dot starts from nothing.

    `added`: the original adds the dot to `acc`, which is not always what it does inside the instruction.
    """
    value = next(found for found in values if found is not None)
    assert value.dot is not None
    default = value.dot.precision == DEFAULT
    a, b = _operands(writer, bound, values, focus)
    precision = plain(cst.parse_expression(value.dot.precision))
    limit = _limit(writer, bound)
    if limit == 0 and family(writer.module.target) == "sm_90":
        raise Refusal("TP103", "max_num_imprecise_acc=0 of tl.dot has no counterpart on sm_90", bound["input"])
    if accumulator is not None:
        if limit:
            if default:
                writer.module.snippets.add(DEFAULT)
            arguments = [a, b, plain(accumulator), precision, plain(cst.Name("True")), plain(cst.Integer(str(limit)))]
            return writer.module.snippet_call("dot_limited", arguments)
        if added and family(writer.module.target) == "sm_90" and not _is_wide(value.dot.element):
            named = [] if default else [precision]
            return writer.module.snippet_call("dot_added", [a, b, plain(accumulator), *named])
        if default:
            return writer.module.snippet_call("dot", [a, b, plain(accumulator)])
        return writer.module.snippet_call("dot_as", [a, b, plain(accumulator), precision, plain(cst.Name("True"))])
    layout = plain(cst.parse_expression(writer.layout_text(focus)))
    if default and "out_dtype" not in bound and not limit:
        return writer.module.snippet_call("dot_new", [a, b, layout])
    if default:
        writer.module.snippets.add(DEFAULT)
    given = [plain(cst.Integer(str(limit)))] if limit else []
    if "out_dtype" in bound:
        given.append(plain(writer.emit(bound["out_dtype"])))
    function = "dot_new_limited" if limit else "dot_new_as"
    return writer.module.snippet_call(function, [a, b, layout, precision, *given])
