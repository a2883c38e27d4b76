@gluon.jit
def staged(x, index: gl.constexpr):
    """A tile in shared memory, where mma.sync reads it as an operand from."""
    layout: gl.constexpr = swizzled_layout(x.type.layout, x.shape, index, x.dtype)
    return gl.allocate_shared_memory(x.dtype, x.shape, layout, x)
