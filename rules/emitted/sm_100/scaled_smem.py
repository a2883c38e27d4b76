@gluon.jit
def scaled_smem(x, form: gl.constexpr, index: gl.constexpr, k_pack: gl.constexpr, padded: gl.constexpr):
    """An operand with scales in shared memory."""
    x = x.to(format_type(form), bitcast=True)
    layout: gl.constexpr = scaled_smem_layout(x.type.layout, x.shape, x.dtype, form, index, k_pack, padded)
    return gl.allocate_shared_memory(x.dtype, x.shape, layout, x)
