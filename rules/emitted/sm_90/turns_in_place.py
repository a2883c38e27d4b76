@gluon.constexpr_function
def turns_in_place(tile, result_layout, precision=F32_PRECISION):
    """Whether a tile that warpgroup instructions cannot read as it lies is written the other way to where it is.

    Its memory begins where its own layout asks for, so the other one must not ask for more.
    """
    if result_layout is None or not is_wgmma(result_layout) or is_split(tile.dtype, precision):
        return False
    shape = tile.shape[::-1] if tile.layout.transposed else tile.shape
    return turned_layout(shape, tile.dtype).swizzle_byte_width <= tile.layout.swizzle_byte_width
