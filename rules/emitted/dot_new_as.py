@gluon.jit
def dot_new_as(a, b, layout: gl.constexpr, precision: gl.constexpr, dtype: gl.constexpr):
    """a @ b in a layout that mma_layout made, float32 at the precision that is named, added up in `dtype`."""
    shape: gl.constexpr = a.shape[:-1] + b.shape[-1:]
    acc = gl.full(shape, 0, dtype, layout=layout)
    return dot_as(a, b, acc, precision, False)
