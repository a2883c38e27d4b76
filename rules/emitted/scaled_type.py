@gluon.constexpr_function
def scaled_type(lhs_format, rhs_format):
    """The type that a dot of microscaling formats is done in where the tensor cores know no scales."""
    return gl.float16 if "fp16" in (lhs_format, rhs_format) else gl.bfloat16
