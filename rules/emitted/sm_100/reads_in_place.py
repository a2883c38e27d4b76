@gluon.constexpr_function
def reads_in_place(tile, index, result_layout, precision=F32_PRECISION):
    """Whether dots of this result read operand `index` of them where a copy put it.

    Blackwell's instructions read elements of 32 bits along K alone, others in either order.
    """
    if result_layout is None or is_split(tile.dtype, precision):
        return False
    along_k = tile.layout.transposed == (index == 1)
    return not is_tcgen05(result_layout) or tile.dtype.primitive_bitwidth < 32 or along_k
