@gluon.jit
def dot_added_started(a, b, acc, precision: gl.constexpr = F32_PRECISION):
    """acc + a @ b, left under way for `dot_awaited`, but for fp8: what is added behind the instruction is not."""
    if a.dtype.is_fp8() and b.dtype.is_fp8():
        return dot_added(a, b, acc, precision)
    else:
        return dot_started(a, b, acc, precision)
