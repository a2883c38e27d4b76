@gluon.jit
def dot_new_started(a, b, layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION, dtype: gl.constexpr = None):
    """a @ b in a layout that mma_layout made, left under way where warpgroup instructions do it: see `dot_awaited`."""
    shape: gl.constexpr = product_shape(a, b)
    sum_type: gl.constexpr = accumulator_type(a.dtype) if dtype is None else dtype
    return dot_started(a, b, gl.full(shape, 0, sum_type, layout=layout), precision, False)
