@gluon.constexpr_function
def is_mma(layout):
    """Whether a tile is spread over registers the way tensor cores leave it."""
    return isinstance(layout, gl.NVMMADistributedLayout)
