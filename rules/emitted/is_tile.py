@gluon.constexpr_function
def is_tile(x):
    """Whether a value has elements, as against a number."""
    return isinstance(x, gl.tensor) and x.type.is_block()
