import functools


@functools.cache
def tile_layout(block_shape, element_size):
    """The shared memory of a descriptor's tiles; it depends on the size of an element in bytes alone."""
    dtype = {1: gl.int8, 2: gl.int16, 4: gl.int32, 8: gl.int64}[element_size]
    return gl.NVMMASharedLayout.get_default_for(list(block_shape), dtype)
