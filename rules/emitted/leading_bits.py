@gluon.jit
def leading_bits(x, precision: gl.constexpr):
    """float32 rounded to what one dot of several multiplies: tf32, or bfloat16."""
    if precision == "tf32x3":
        return as_tf32(x)
    else:
        return x.to(gl.bfloat16)
