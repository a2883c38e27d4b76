from triton.experimental.gluon.language.nvidia import blackwell


@gluon.constexpr_function
def scale_registers(shape, dtype, num_warps):
    """The registers that scales are stored to tensor memory from."""
    layout = blackwell.TensorMemoryScalesLayout()
    # A function of its own up to Triton 3.7, a method since.
    by_shape = getattr(blackwell, "get_tmem_reg_layout", None)
    if by_shape is not None:
        return by_shape(dtype, shape, layout, num_warps)
    return blackwell.tensor_memory_descriptor_type(dtype, shape, layout, shape).get_reg_layout(num_warps)
