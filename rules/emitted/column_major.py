@gluon.constexpr_function
def column_major(layout):
    """Whether a tile in registers is contiguous along the last dimension but one."""
    return isinstance(layout, gl.BlockedLayout) and layout.order[0] == len(layout.order) - 2
