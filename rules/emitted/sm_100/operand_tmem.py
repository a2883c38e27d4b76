from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout, allocate_tensor_memory


@gluon.jit
def operand_tmem(x):
    """A left operand that was computed, in tensor memory: it needs no shared memory."""
    layout: gl.constexpr = TensorMemoryLayout((min(x.shape[0], 128), x.shape[1]), col_stride=1)
    registers: gl.constexpr = tmem_registers(x.shape, gl.num_warps())
    return allocate_tensor_memory(x.dtype, x.shape, layout, gl.convert_layout(x, registers))
