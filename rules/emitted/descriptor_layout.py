def descriptor_layout(tensor, block_shape):
    """The shared memory layout of a descriptor's tiles; it depends on the width of an element alone."""
    dtype = {1: gl.int8, 2: gl.int16, 4: gl.int32, 8: gl.int64}[tensor.element_size()]
    return gl.NVMMASharedLayout.get_default_for(list(block_shape), dtype)
