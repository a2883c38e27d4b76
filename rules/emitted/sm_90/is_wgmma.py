@gluon.constexpr_function
def is_wgmma(layout):
    """Whether a result is spread over registers the way Hopper's warpgroup instructions leave it."""
    return isinstance(layout, gl.NVMMADistributedLayout) and layout.version[0] == 3
