@gluon.jit
def dot_operand(x, index: gl.constexpr, layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION):
    """An operand where the dots with results of this layout read it from."""
    if is_split(x.dtype, precision) or x.dtype.is_fp8():
        return x
    elif is_mma(layout):
        return staged(x, index)
    else:
        return exact_smem(x)
