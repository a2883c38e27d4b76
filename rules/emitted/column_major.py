@gluon.constexpr_function
def column_major(layout):
    """Whether a tile in registers is contiguous along the last dimension but one."""
    if isinstance(layout, gl.DistributedLinearLayout):
        return len(layout.reg_bases) > 0 and layout.reg_bases[0][len(layout.shape) - 2] != 0
    return isinstance(layout, gl.BlockedLayout) and layout.order[0] == len(layout.order) - 2
