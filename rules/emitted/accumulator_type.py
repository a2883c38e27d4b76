@gluon.constexpr_function
def accumulator_type(dtype):
    """What a dot of this type is added up in."""
    if dtype.is_int():
        return gl.int32
    return gl.float64 if dtype == gl.float64 else gl.float32
