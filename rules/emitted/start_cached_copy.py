from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def start_cached_copy(smem, pointers, mask, in_runs: gl.constexpr, cache: gl.constexpr, evict: gl.constexpr):
    """As start_copy, with the hints for caches that the load had."""
    present = gl.full(pointers.shape, True, gl.int1, layout=pointers.type.layout) & mask
    if copies_words(pointers.type.layout, smem.layout, smem.dtype, in_runs):
        async_copy.async_load(smem, pointers, mask=present, cache_modifier=cache, eviction_policy=evict)
    else:
        smem.store(gl.load(pointers, mask=present, other=0.0, cache_modifier=cache, eviction_policy=evict))
