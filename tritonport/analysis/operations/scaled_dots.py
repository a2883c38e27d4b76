"""What `tl.dot_scaled` means: shapes of packed operands, scales that may be None, the type it is decomposed in.

Sources: `triton/language/semantic.py` (`dot_scaled`); `DecomposeScaledBlocked.cpp` of Triton.
"""

from __future__ import annotations

from tritonport.analysis import dims, strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Call, operation, tensor
from tritonport.analysis.shapes import padding
from tritonport.analysis.terms import Dot, Root
from tritonport.analysis.values import Kind, Operand, Refusal, Value

GROUP = dims.number(32)
"""What a dot sums over at least, where its operands have scales: enough for any tensor core."""
FORMATS = ("e2m1", "e4m3", "e5m2", "fp16", "bf16")


def _format(call: Call, name: str) -> tuple[str | None, str]:
    """A format: its name where the file says it, and its source text."""
    given = call.required(name)[1]
    if isinstance(given.known, str):
        if given.known not in FORMATS:
            raise Refusal("TP103", f"{name}={given.known!r} of tl.dot_scaled is not a format of Triton", call.node)
        return given.known, f'"{given.known}"'
    if given.kind is Kind.CONSTEXPR and given.dim is not None:
        return None, given.dim.text
    raise Refusal("TP201", f"{name}= of tl.dot_scaled is not a compile-time value of this file", call.node)


def _packed_along_k(call: Call, name: str) -> bool:
    given = call.value(name)
    if given is None:
        return True
    if not isinstance(given.known, (bool, int)):
        raise Refusal("TP201", f"{name}= of tl.dot_scaled is not a constant in this file", call.node)
    return bool(given.known)


def _twice(size: Dim) -> Dim:
    return dims.multiply(dims.number(2), size, f"2 * {dims.grouped(size.text)}")


@operation("dot_scaled")
def dot_scaled(interpreter: Evaluator, call: Call) -> Value:
    left, right = call.required("lhs"), call.required("rhs")
    if not left[1].is_tensor or not right[1].is_tensor or left[1].rank != 2 or right[1].rank != 2:
        raise Refusal("TP203", "tl.dot_scaled of something else than two tiles of two dimensions", call.node)
    (a_known, a_format), (b_known, b_format) = _format(call, "lhs_format"), _format(call, "rhs_format")
    a_along_k, b_along_k = _packed_along_k(call, "lhs_k_pack"), _packed_along_k(call, "rhs_k_pack")
    rows, columns = left[1].shape[0], right[1].shape[1]
    shape = (rows if a_along_k else _twice(rows), columns if b_along_k else _twice(columns))
    arguments = [left, right]
    scales = [call.value(name) for name in ("lhs_scale", "rhs_scale")]
    for name, scale in zip(("lhs_scale", "rhs_scale"), scales, strict=True):
        if scale is None:
            continue
        if not scale.is_tensor or scale.rank != 2:
            raise Refusal("TP203", f"{name}= of tl.dot_scaled is neither None nor a tile", call.node)
        arguments.append(call.arguments[name])
    operands = [Operand(expression, value, separate=Root(value.rank, value.shape)) for expression, value in arguments]
    acc = call.arguments.get("acc")
    if acc is not None and acc[1].is_tensor:
        operands.append(Operand(acc[0], acc[1], padding(acc[1].rank, 2)))
    compute_type = _compute_type(a_known, a_format, b_known, b_format)
    return tensor(
        call,
        interpreter,
        "dot",
        shape,
        operands,
        strides=(strides.UNKNOWN,) * 2,
        place=interpreter.places.here(),
        dot=Dot(GROUP, (compute_type,), '"tf32"', (scales[0] is not None, scales[1] is not None)),
        element=("gl.float32",),
    )


def _compute_type(a_known: str | None, a_format: str, b_known: str | None, b_format: str) -> str:
    """The type the tensor cores get where they know no scales, as source text."""
    if "fp16" in (a_known, b_known):
        return "gl.float16"
    if a_known is not None and b_known is not None:
        return "gl.bfloat16"
    return f"scaled_type({a_format}, {b_format})"
