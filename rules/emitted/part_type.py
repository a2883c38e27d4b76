@gluon.constexpr_function
def part_type(dtype, precision):
    """The type of what the tensor cores multiply: bfloat16 where float32 is taken apart into it."""
    return gl.bfloat16 if dtype == gl.float32 and precision in ("bf16x3", "bf16x6") else dtype
