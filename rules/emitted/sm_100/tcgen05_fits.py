@gluon.constexpr_function
def tcgen05_fits(shape, k, dtype, num_warps, precision):
    """Whether Blackwell's instructions can do a dot of this shape, at no lower precision than asked for."""
    if len(shape) != 2 or dtype.is_int() or dtype == gl.float64 or (dtype == gl.float32 and precision == "ieee"):
        return False
    m, n = shape
    return m >= 64 and n >= 16 and k * dtype.primitive_bitwidth >= 256 and num_warps in (4, 8)
