@gluon.jit
def dot_scaled_new(
    lhs,
    lhs_scale,
    lhs_format: gl.constexpr,
    rhs,
    rhs_scale,
    rhs_format: gl.constexpr,
    layout: gl.constexpr,
    fast_math: gl.constexpr = False,
    lhs_k_pack: gl.constexpr = True,
    rhs_k_pack: gl.constexpr = True,
):
    """(lhs * lhs_scale) @ (rhs * rhs_scale) in a layout that mma_layout made."""
    m: gl.constexpr = lhs.shape[0] if lhs_k_pack else 2 * lhs.shape[0]
    n: gl.constexpr = rhs.shape[1] if rhs_k_pack else 2 * rhs.shape[1]
    acc = gl.zeros([m, n], gl.float32, layout=layout)
    return dot_scaled(
        lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, fast_math, lhs_k_pack, rhs_k_pack, False
    )
