"""What `tl.dot` means: shapes, operands, and the precision it is asked for.

Sources: `triton/language/semantic.py` (`dot`) for defaults and accumulator types; DESIGN section 5.
"""

from __future__ import annotations

from tritonport.analysis import strides
from tritonport.analysis.dims import decided
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Call, operation, tensor
from tritonport.analysis.shapes import padding
from tritonport.analysis.terms import Dot, Root
from tritonport.analysis.values import Kind, Operand, Refusal, Value

DEFAULT = "F32_PRECISION"
"""Names the module-level constant that holds TRITON_F32_DEFAULT in the output."""
PRECISIONS = ("tf32", "tf32x3", "bf16x3", "bf16x6", "ieee")


def precision_of(call: Call) -> str:
    """The precision of float32 operands as source text; refuses what the output cannot say exactly (TP103)."""
    given = call.value("input_precision")
    if given is not None:
        if isinstance(given.known, str):
            if given.known not in PRECISIONS:
                raise Refusal(
                    "TP103", f"input_precision={given.known!r} of tl.dot is not converted by this version", call.node
                )
            return f'"{given.known}"'
        if given.kind is Kind.CONSTEXPR and given.dim is not None:
            return given.dim.text
        raise Refusal("TP201", "input_precision= of tl.dot is not a compile-time value of this file", call.node)
    allow = call.value("allow_tf32")
    if allow is None:
        return DEFAULT
    if isinstance(allow.known, (bool, int)):
        return '"tf32"' if allow.known else '"ieee"'
    if allow.kind is Kind.CONSTEXPR and allow.dim is not None:
        return f'"tf32" if {allow.dim.text} else "ieee"'
    raise Refusal("TP201", "allow_tf32= of tl.dot is not a compile-time value of this file", call.node)


@operation("dot")
def dot(interpreter: Evaluator, call: Call) -> Value:
    left, right = call.arguments["input"], call.arguments["other"]
    if not left[1].is_tensor or not right[1].is_tensor or left[1].rank != right[1].rank or left[1].rank not in (2, 3):
        raise Refusal("TP203", "tl.dot of something else than two tiles", call.node)
    limit = call.value("max_num_imprecise_acc")
    if limit is not None and not isinstance(limit.known, int):
        raise Refusal("TP201", "max_num_imprecise_acc= of tl.dot is not a number in this file", call.node)
    element = left[1].element or right[1].element
    if not element:
        raise Refusal("TP201", "the element type of tl.dot's operands is not known from this file", call.node)
    shape = left[1].shape[:-1] + right[1].shape[-1:]
    interpreter.descriptors.meet(left[1].shape[-1:], right[1].shape[-2:-1])
    operands = [
        Operand(expression, value, separate=Root(value.rank, value.shape)) for expression, value in (left, right)
    ]
    acc = call.arguments.get("acc")
    if acc is not None and acc[1].is_tensor:
        operands.append(Operand(acc[0], acc[1], padding(acc[1].rank, len(shape))))
        interpreter.descriptors.meet(shape, acc[1].shape)
        if acc[1].rank == len(shape):
            # Triton insists on equal shapes: a size that does not depend on a compile-time test is the plainer one.
            shape = tuple(a if a.choice is None else b for a, b in zip(shape, acc[1].shape, strict=True))
    # Below `if FLAG`, a tile whose shape the flag picks has one of the two.
    shape = tuple(decided(size, interpreter.places.tests) for size in shape)
    return tensor(
        call,
        interpreter,
        "dot",
        shape,
        operands,
        strides=(strides.UNKNOWN,) * len(shape),
        place=interpreter.places.here(),
        dot=Dot(decided(left[1].shape[-1], interpreter.places.tests), element, precision_of(call)),
        element=accumulator(call),
    )


def accumulator(call: Call) -> tuple[str, ...]:
    """The type of the result, where the call names it or its accumulator has one."""
    given = call.value("out_dtype")
    if given is not None and given.element:
        return given.element
    acc = call.value("acc")
    if acc is not None and acc.is_tensor:
        return acc.element
    operands = call.arguments["input"][1].element
    if operands in (("gl.int8",), ("gl.uint8",)):
        return ("gl.int32",)
    return ("gl.float64",) if operands == ("gl.float64",) else ("gl.float32",)
