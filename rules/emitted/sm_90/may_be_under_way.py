@gluon.constexpr_function
def may_be_under_way(x):
    """Whether a value is the result of a warpgroup instruction, which is there after a wait only."""
    return not isinstance(x, gl.tensor) or is_wgmma(x.type.layout)
