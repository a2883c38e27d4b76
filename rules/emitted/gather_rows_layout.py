@gluon.constexpr_function
def gather_rows_layout(num_warps):
    """The layout of row numbers that the copy engine reads four at a time."""
    return gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, num_warps], [1, 0]))
