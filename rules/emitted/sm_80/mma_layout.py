@gluon.constexpr_function
def mma_layout(shape, k, dtype, num_warps, precision, chained=False, follows=None):
    """The layout of a dot's result for the instructions that keep its precision."""
    if dtype == gl.float64 or (dtype == gl.float32 and precision == "ieee"):
        return fma_layout(shape, num_warps)
    return mma_v2_layout(shape, num_warps, chained or is_split(dtype, precision), follows)
