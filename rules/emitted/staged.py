@gluon.jit
def staged(x, index: gl.constexpr):
    """An operand in shared memory, where mma.sync reads it from."""
    if is_shared(x):
        return x
    else:
        layout: gl.constexpr = swizzled_layout(x.type.layout, x.shape, index, x.dtype)
        return gl.allocate_shared_memory(x.dtype, x.shape, layout, x)
