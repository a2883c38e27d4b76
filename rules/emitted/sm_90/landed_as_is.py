@gluon.jit
def landed_as_is(tile, index: gl.constexpr, result_layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION):
    """A copied tile: where it is, if dots of this result read operand `index` of theirs there; else in registers.

    It is not turned where it is: without a dot and its fence the next copy could come before what is written.
    """
    if reads_in_place(tile, index, result_layout, precision):
        return tile
    else:
        return landed(tile, index, None)
