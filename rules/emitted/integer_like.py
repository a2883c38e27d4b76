@gluon.constexpr_function
def integer_like(dtype):
    """The signed integer type with as many bits."""
    return {1: gl.int1, 8: gl.int8, 16: gl.int16, 32: gl.int32, 64: gl.int64}[dtype.primitive_bitwidth]
