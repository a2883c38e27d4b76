@gluon.jit
def as_float32(x):
    """bfloat16 as float32, every other type as it is: Triton before 3.9 compares bfloat16 this way."""
    if x.dtype == gl.bfloat16:
        x = x.to(gl.float32)
    return x
