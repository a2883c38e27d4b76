@gluon.constexpr_function
def exact_log2(size):
    """The exponent of a power of two."""
    assert size > 0 and size & (size - 1) == 0, f"{size} is not a power of two"
    return size.bit_length() - 1
