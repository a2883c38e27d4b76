@gluon.constexpr_function
def vector_layout(size, bits, num_warps, sliced):
    """The layout of a vector in memory: that of the tile it is a row or column of, unless each thread has an element
    of its own to move; then Triton moves it once and converts it."""
    return sliced if size < 32 * num_warps else coalesced([size], bits, [0], num_warps)
