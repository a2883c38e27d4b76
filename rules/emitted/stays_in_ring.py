@gluon.constexpr_function
def stays_in_ring(dtype, result_layout, precision=F32_PRECISION):
    """Whether dots of this result read an operand in shared memory, and not in pieces of it that they make first."""
    return result_layout is not None and not is_split(dtype, precision)
