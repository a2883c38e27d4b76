@gluon.jit
def operand_smem(x, index: gl.constexpr):
    """An operand in shared memory, where Blackwell's instructions read it from."""
    if is_shared(x):
        return x
    else:
        layout: gl.constexpr = operand_smem_layout(x.type.layout, x.shape, x.dtype, index)
        return gl.allocate_shared_memory(x.dtype, x.shape, layout, x)
