@gluon.jit
def dot_scaled(
    lhs,
    lhs_scale,
    lhs_format: gl.constexpr,
    rhs,
    rhs_scale,
    rhs_format: gl.constexpr,
    acc,
    fast_math: gl.constexpr = False,
    lhs_k_pack: gl.constexpr = True,
    rhs_k_pack: gl.constexpr = True,
    use_acc: gl.constexpr = True,
):
    """(lhs * lhs_scale) @ (rhs * rhs_scale) (+ acc) of microscaling formats: scaled in 16 bits, then multiplied."""
    dtype: gl.constexpr = scaled_type(lhs_format, rhs_format)
    a = scaled_operand(lhs, lhs_scale, lhs_format, 0, dtype, fast_math, lhs_k_pack)
    layout: gl.constexpr = acc.type.layout
    if not in_registers(a):
        # In shared memory before the other operand is scaled, which takes registers of its own.
        a = dot_operand(a, 0, layout)
    b = scaled_operand(rhs, rhs_scale, rhs_format, 1, dtype, fast_math, rhs_k_pack)
    return dot_once(a, b, acc, "tf32", use_acc)
