@gluon.jit
def dot_operand(x, index: gl.constexpr, layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION):
    """An operand where the dots with results of this layout read it from."""
    if is_split(x.dtype, precision):
        return x
    elif is_tcgen05(layout):
        return operand_smem(x, index)
    elif is_mma(layout):
        return staged(x, index)
    else:
        return exact_smem(x)
