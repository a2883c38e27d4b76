@gluon.jit
def dot_added(a, b, acc, precision: gl.constexpr = F32_PRECISION):
    """acc + a @ b, added in the instruction; for fp8 behind it, since the instruction adds in short accumulators."""
    if a.dtype.is_fp8() and b.dtype.is_fp8():
        return acc + dot_as(a, b, gl.full(acc.shape, 0, acc.dtype, layout=acc.type.layout), precision, False)
    else:
        return dot_as(a, b, acc, precision, True)
