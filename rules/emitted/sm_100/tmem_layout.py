from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout


@gluon.constexpr_function
def tmem_layout(shape, dtype):
    """Tensor memory for a sum of dots: blocks of at most 128 x 256, a column of 32 bits for each element."""
    m, n = shape
    return TensorMemoryLayout((min(m, 128), min(n, 256)), col_stride=32 // dtype.primitive_bitwidth)
