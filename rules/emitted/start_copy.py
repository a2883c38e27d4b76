from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def start_copy(smem, pointers, mask, in_runs: gl.constexpr):
    """Begin to copy a tile into shared memory, zero where the mask is false; through registers if cp.async cannot."""
    present = gl.full(pointers.shape, True, gl.int1, layout=pointers.type.layout) & mask
    if copies_words(pointers.type.layout, smem.layout, smem.dtype, in_runs):
        async_copy.async_load(smem, pointers, mask=present)
    else:
        smem.store(gl.load(pointers, mask=present, other=0.0))
