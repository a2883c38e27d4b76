from triton.experimental.gluon.language.nvidia.blackwell import allocate_tensor_memory


@gluon.jit
def tmem_empty(zeros):
    """Tensor memory for a sum that begins with zeros, which its first dot writes itself; or these, in registers."""
    if is_tcgen05(zeros.type.layout):
        return allocate_tensor_memory(zeros.dtype, zeros.shape, tmem_layout(zeros.shape, zeros.dtype))
    else:
        return zeros
