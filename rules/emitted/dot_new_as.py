@gluon.jit
def dot_new_as(a, b, layout: gl.constexpr, precision: gl.constexpr, dtype: gl.constexpr):
    """a @ b in a layout that mma_layout made, float32 at the precision that is named, added up in `dtype`."""
    shape: gl.constexpr = product_shape(a, b)
    acc = gl.full(shape, 0, dtype, layout=layout)
    return dot_as(a, b, acc, precision, False)
