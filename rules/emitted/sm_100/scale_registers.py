from triton.experimental.gluon.language.nvidia import blackwell


@gluon.constexpr_function
def scale_registers(shape, dtype, num_warps):
    """The registers that scales are stored to tensor memory from."""
    layout = blackwell.TensorMemoryScalesLayout()
    if hasattr(blackwell, "get_tmem_reg_layout"):
        return blackwell.get_tmem_reg_layout(dtype, shape, layout, num_warps)
    return blackwell.tensor_memory_descriptor_type(dtype, shape, layout, shape).get_reg_layout(num_warps)
