from triton.experimental.gluon.language.nvidia.blackwell import allocate_tensor_memory


@gluon.jit
def tmem_alloc(acc):
    """What a loop adds up, where its dots add to it: in tensor memory, or in its registers."""
    if is_tcgen05(acc.type.layout):
        return allocate_tensor_memory(acc.dtype, acc.shape, tmem_layout(acc.shape, acc.dtype), acc)
    else:
        return acc
