@gluon.jit
def float_dot_plus(a, b, addend, layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION):
    """(a @ b).to(float32) + addend. Of floats the dot is float32 already and may start from the addend."""
    if accumulator_type(a.dtype) == gl.float32:
        return dot_plus(a, b, addend, layout, precision)
    else:
        zero = gl.full(product_shape(a, b), 0, accumulator_type(a.dtype), layout=layout)
        return dot_as(a, b, zero, precision, False).to(gl.float32) + addend
