@gluon.jit
def dot_new(a, b, layout: gl.constexpr):
    """a @ b in a layout that mma_layout made."""
    shape: gl.constexpr = product_shape(a, b)
    acc = gl.full(shape, 0, accumulator_type(a.dtype), layout=layout)
    return dot_as(a, b, acc, F32_PRECISION, False)
