@gluon.jit
def mma_v2_operand(x):
    """8-bit floats as float16, which holds them exactly: Triton takes mma.sync of their own on sm_89 alone."""
    if x.dtype.is_fp8():
        x = x.to(gl.float16)
    return x
