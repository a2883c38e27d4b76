@gluon.jit
def dot_new_as(a, b, layout: gl.constexpr, precision: gl.constexpr, dtype: gl.constexpr = None):
    """a @ b in a layout that mma_layout made, float32 at the precision that is named, added up in `dtype` if given."""
    shape: gl.constexpr = product_shape(a, b)
    sum_type: gl.constexpr = accumulator_type(a.dtype) if dtype is None else dtype
    acc = gl.full(shape, 0, sum_type, layout=layout)
    return dot_as(a, b, acc, precision, False)
