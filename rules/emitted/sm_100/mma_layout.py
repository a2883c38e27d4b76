@gluon.constexpr_function
def mma_layout(shape, k, dtype, num_warps, precision, chained=False, follows=None, rowwise=False):
    """The layout of a dot's result for the widest instruction that fits and keeps its precision.

    `rowwise`: the rows of the result are reduced.
    """
    split = is_split(dtype, precision)
    dtype = part_type(dtype, precision)
    if tcgen05_fits(shape, k, dtype, num_warps, precision):
        return tmem_registers(shape, num_warps, rowwise)
    if dtype == gl.float64 or (dtype == gl.float32 and precision == "ieee"):
        return fma_layout(shape, num_warps)
    return mma_v2_layout(shape, num_warps, chained or split, follows)
