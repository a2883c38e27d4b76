@gluon.constexpr_function
def is_operand(x):
    """Whether a tile stands in registers the way tensor cores read an operand."""
    return isinstance(x, gl.tensor) and isinstance(x.type.layout, gl.DotOperandLayout)
