@gluon.jit
def decoded_scale(scale, dtype: gl.constexpr, fast_math: gl.constexpr):
    """The numbers that scales stand for: a byte is an exponent, 255 is NaN unless `fast_math` says there is none."""
    if scale.dtype.is_floating():
        return scale.to(dtype)
    else:
        if dtype == gl.bfloat16:
            bits = gl.maximum(scale.to(gl.uint8).to(gl.int16) << 7, LEAST_SCALE).to(gl.int16)
            number = bits.to(gl.bfloat16, bitcast=True)
        else:
            number = (scale.to(gl.uint8).to(gl.int32) << 23).to(gl.float32, bitcast=True)
        if not fast_math:
            number = gl.where(scale.to(gl.uint8) == 255, float("nan"), number)
        return number.to(dtype)
