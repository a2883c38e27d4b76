@gluon.constexpr_function
def operand_width(dtype):
    """Elements of an mma operand that share a 32-bit register."""
    return max(1, 32 // dtype.primitive_bitwidth)
