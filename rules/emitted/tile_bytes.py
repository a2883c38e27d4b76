def tile_bytes(descriptor):
    """Shared memory for one tile of a descriptor and its barrier; none where a launch has no descriptor."""
    if descriptor is None:
        return 0
    size = element_bytes(descriptor.base)
    for extent in descriptor.block_shape:
        size *= extent
    return size + 8
