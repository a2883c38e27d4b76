@gluon.jit
def exact_smem(x):
    """An operand in shared memory, where a dot without tensor cores reads it from."""
    if is_shared(x):
        return x
    else:
        layout: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, row_major(len(x.shape)))
        return gl.allocate_shared_memory(x.dtype, x.shape, layout, x)
