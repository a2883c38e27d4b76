@gluon.jit
def dot_operand(x, index: gl.constexpr, layout: gl.constexpr):
    """An operand that does not change in a loop, put once where the dots of the loop read it from."""
    if x.dtype == gl.float32 and F32_PRECISION == "tf32x3":
        return x
    elif is_wgmma(layout):
        return operand_smem(x, index)
    elif is_mma(layout):
        return staged(x, index)
    else:
        return x
