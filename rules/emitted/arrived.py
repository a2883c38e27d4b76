@gluon.jit
def arrived(smem, layout: gl.constexpr, result_layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION):
    """A tile that has been copied: where it is, if dots of this result read it there; else in registers."""
    if stays_in_ring(smem.dtype, result_layout, precision):
        return smem
    else:
        return smem.load(layout)
