@gluon.jit
def dot_new_limited(
    a, b, layout: gl.constexpr, precision: gl.constexpr, limit: gl.constexpr, dtype: gl.constexpr = None
):
    """a @ b in a layout that mma_layout made; Hopper adds up at most `limit` products of fp8 in short accumulators."""
    shape: gl.constexpr = product_shape(a, b)
    sum_type: gl.constexpr = accumulator_type(a.dtype) if dtype is None else dtype
    acc = gl.full(shape, 0, sum_type, layout=layout)
    return dot_limited(a, b, acc, precision, False, limit)
