from triton.experimental.gluon.language.nvidia.blackwell import tensor_memory_descriptor


@gluon.constexpr_function
def in_tmem(x):
    """Whether a sum stands in tensor memory."""
    return isinstance(x, tensor_memory_descriptor)
