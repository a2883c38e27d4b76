from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryScalesLayout, allocate_tensor_memory


@gluon.jit
def scale_tmem(scale):
    """Scales in tensor memory, where the instruction reads them from; shared memory spreads them over the threads."""
    registers: gl.constexpr = scale_registers(scale.shape, scale.dtype, gl.num_warps())
    layout: gl.constexpr = TensorMemoryScalesLayout()
    smem = gl.allocate_shared_memory(scale.dtype, scale.shape, gl.SwizzledSharedLayout(1, 1, 1, [1, 0]), scale)
    return allocate_tensor_memory(scale.dtype, scale.shape, layout, smem.load(registers))
