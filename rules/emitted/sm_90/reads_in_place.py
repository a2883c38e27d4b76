@gluon.constexpr_function
def reads_in_place(tile, index, result_layout, precision=F32_PRECISION):
    """Whether dots of this result read operand `index` of them where a copy put it.

    Warpgroup instructions read 16-bit elements in either order, others along K alone.
    """
    if result_layout is None or is_split(tile.dtype, precision):
        return False
    along_k = tile.layout.transposed == (index == 1)
    return not is_wgmma(result_layout) or tile.dtype.primitive_bitwidth == 16 or along_k
