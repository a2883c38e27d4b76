@gluon.jit
def dot_new(a, b, layout: gl.constexpr):
    """a @ b in a layout that mma_layout made."""
    shape: gl.constexpr = a.shape[:-1] + b.shape[-1:]
    acc = gl.full(shape, 0, accumulator_type(a.dtype), layout=layout)
    return dot_as(a, b, acc, F32_PRECISION, False)
