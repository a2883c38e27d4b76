@gluon.constexpr_function
def row_major(rank):
    """The order of dimensions with the last one contiguous."""
    return list(range(rank))[::-1]
