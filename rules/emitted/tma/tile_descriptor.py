from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


def tile_descriptor(tensor, shape, strides, block_shape, either_order=False, stored=False):
    """What the hardware needs to copy such tiles, the contiguous dimension last; None where it cannot.

    `shape`: None for an extent that nothing bounds. `either_order`: a matrix by columns is described by its columns.
    `stored`: the tiles are written, in whole 16 bytes.
    """
    if isinstance(tensor, TensorDescriptor):
        return None  # the launch has its own, which other forms of the kernel read
    if either_order and strides[-2] == 1:
        shape, strides, block_shape = ([*one[:-2], one[-1], one[-2]] for one in (shape, strides, block_shape))
    largest = 2**31 - 1
    shape = [largest if extent is None else extent for extent in shape]
    size = element_bytes(tensor)
    # The low bits that any row's address has: all of them begin at multiples of 16 bytes, or not.
    starts = tensor.data_ptr()
    for stride in strides[:-1]:
        starts |= stride * size
    if starts % 16 != 0 or strides[-1] != 1 or min(strides) < 1 or min(shape) < 1 or max(shape) > largest:
        return None
    # Descriptors have elements of 8, 16 and 32 bits, and rows of 16 bytes at least.
    if size > 4 or block_shape[-1] * size < 16:
        return None
    # The type of a truth value has one bit, and its elements eight.
    if size == 1 and str(tensor.dtype) in ("torch.bool", "int1"):
        return None
    if stored and shape[-1] * size % 16 != 0 and shape[-1] != largest:
        return None
    return TileDescriptor(tensor, shape, strides, block_shape, tile_layout(tuple(block_shape), size))
