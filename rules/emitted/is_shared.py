@gluon.constexpr_function
def is_shared(x):
    """Whether an operand already stands in shared memory."""
    return isinstance(x, gl.shared_memory_descriptor)
