@gluon.constexpr_function
def in_registers(x):
    """Whether an operand is a tile that an earlier dot left in registers."""
    return isinstance(x, gl.tensor) and isinstance(x.type.layout, gl.NVMMADistributedLayout)
