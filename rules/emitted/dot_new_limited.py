@gluon.jit
def dot_new_limited(a, b, layout: gl.constexpr, precision: gl.constexpr, dtype: gl.constexpr, limit: gl.constexpr):
    """a @ b in a layout that mma_layout made; Hopper adds up at most `limit` products of fp8 in short accumulators."""
    shape: gl.constexpr = product_shape(a, b)
    acc = gl.full(shape, 0, dtype, layout=layout)
    return dot_limited(a, b, acc, precision, False, limit)
