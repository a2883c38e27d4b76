@gluon.constexpr_function
def stays_in_ring(dtype, result_layout):
    """Whether dots of this result read an operand in shared memory, and not in pieces of it that they make first."""
    return is_mma(result_layout) and not is_split(dtype, F32_PRECISION)
