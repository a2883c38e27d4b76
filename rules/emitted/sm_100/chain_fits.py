@gluon.constexpr_function
def chain_fits(acc, shape, operand_type, layout, dtype):
    """Whether a product of this shape and the left operand made of it have room beside a sum: the columns of tensor
    memory are 512, each of 32 bits in 128 rows.

    `dtype`: of what the product is made of; float32 that is taken apart is multiplied elsewhere.
    """
    if not in_tmem(acc) or not is_tcgen05(layout) or is_split(dtype, F32_PRECISION):
        return False
    bits = acc.shape[1] * max(acc.shape[0] // 128, 1) * acc.dtype.primitive_bitwidth
    bits += shape[1] * max(shape[0] // 128, 1) * (32 + operand_type.primitive_bitwidth)
    return bits <= 512 * 32
