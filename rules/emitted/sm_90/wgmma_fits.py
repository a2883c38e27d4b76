@gluon.constexpr_function
def wgmma_fits(shape, k, dtype, num_warps, precision):
    """Whether Hopper's warpgroup instructions can do a dot of this shape, at no lower precision than asked for."""
    if len(shape) != 2 or dtype == gl.float64 or (dtype == gl.float32 and precision == "ieee"):
        return False
    m, n = shape
    return m % 64 == 0 and n % 8 == 0 and k * dtype.primitive_bitwidth >= 256 and num_warps % 4 == 0
