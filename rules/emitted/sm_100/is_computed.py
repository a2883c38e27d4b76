@gluon.constexpr_function
def is_computed(x):
    """Whether an operand is a tile that was computed: one in the layout of an earlier dot's result."""
    return isinstance(x, gl.tensor) and isinstance(
        x.type.layout, (gl.NVMMADistributedLayout, gl.DistributedLinearLayout)
    )
