from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


def tile_descriptor(tensor, shape, strides, block_shape, either_order=False, stored=False):
    """What the hardware needs to copy such tiles, the contiguous dimension last; None where it cannot.

    `shape`: None for an extent that nothing bounds. `either_order`: a matrix by columns is described by its columns.
    `stored`: the tiles are written, in whole 16 bytes.
    """
    if isinstance(tensor, TensorDescriptor):
        return None  # the launch has its own, which other forms of the kernel read
    if either_order and strides[0] == 1:
        shape, strides, block_shape = shape[::-1], strides[::-1], block_shape[::-1]
    shape = [2**31 - 1 if extent is None else extent for extent in shape]
    size = element_bytes(tensor)
    if size > 4:
        return None  # descriptors have elements of 8, 16 and 32 bits
    aligned = tensor.data_ptr() % 16 == 0 and all(stride > 0 and stride * size % 16 == 0 for stride in strides[:-1])
    if not aligned or strides[-1] != 1 or block_shape[-1] * size < 16 or not all(0 < n < 2**31 for n in shape):
        return None
    if stored and shape[-1] * size % 16 != 0 and shape[-1] != 2**31 - 1:
        return None
    return TensorDescriptor(tensor, shape, strides, block_shape, tile_layout(tuple(block_shape), size))
