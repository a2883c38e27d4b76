@gluon.jit
def in_place_or(
    tile, values, index: gl.constexpr, result_layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION
):
    """A copied tile where it is, if dots of this result read operand `index` of theirs there; else its values."""
    if reads_in_place(tile, index, result_layout, precision):
        return tile
    else:
        return values
