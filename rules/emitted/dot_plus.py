@gluon.jit
def dot_plus(a, b, addend, layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION, dtype: gl.constexpr = None):
    """a @ b + addend in a layout that mma_layout made. As in Triton, an addend that does not change the type of the
    sums is what they start from, which rounds otherwise than an addition of its own."""
    sum_type: gl.constexpr = accumulator_type(a.dtype) if dtype is None else dtype
    shape: gl.constexpr = product_shape(a, b)
    zero = gl.full(shape, 0, sum_type, layout=layout)
    total = zero + addend
    if total.type == zero.type:
        return dot_added(a, b, started_from(addend, zero), precision)
    else:
        return dot_as(a, b, zero, precision, False) + addend
