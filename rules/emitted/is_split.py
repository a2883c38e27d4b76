@gluon.constexpr_function
def is_split(dtype, precision):
    """Whether float32 operands are taken apart, for several dots that are more precise than one."""
    return dtype == gl.float32 and precision in ("tf32x3", "bf16x3", "bf16x6")
