@gluon.constexpr_function
def is_tcgen05(layout):
    """Whether a dot's result is spread over registers the way tensor memory is loaded."""
    return isinstance(layout, gl.DistributedLinearLayout)
