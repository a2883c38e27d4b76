@gluon.constexpr_function
def mma_layout(shape, k, dtype, num_warps, precision, chained=False, follows=None):
    """The layout of a dot's result for the widest instruction that fits and keeps its precision.

    The warps of a warpgroup instruction tile M while it lasts, all of it in a chain of dots.
    """
    split = is_split(dtype, precision)
    dtype = part_type(dtype, precision)
    if wgmma_fits(shape, k, dtype, num_warps, precision):
        m, n = shape
        warps = [num_warps, 1] if chained else [4, 1]
        while warps[0] * warps[1] < num_warps:
            warps[0 if m > 16 * warps[0] else 1] *= 2
        width = 256
        while width > max(n // warps[1], 8) or n % width or (dtype.is_int() and width > 32 and width % 16):
            width -= 8
        return gl.NVMMADistributedLayout([3, 0], warps, [16, width, 256 // dtype.primitive_bitwidth])
    if dtype == gl.float64 or (dtype == gl.float32 and precision == "ieee"):
        return fma_layout(shape, num_warps)
    return mma_v2_layout(shape, num_warps, chained or split, follows)
