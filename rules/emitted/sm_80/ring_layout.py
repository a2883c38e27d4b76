@gluon.constexpr_function
def ring_layout(layout, shape, dtype, index, result_layout, precision=F32_PRECISION):
    """Shared memory for a copied tile: as dots of this result read operand `index`, else as it stands in memory."""
    if is_mma(result_layout) and stays_in_ring(dtype, result_layout, precision):
        return swizzled_layout(layout, shape, index, dtype)
    return gl.SwizzledSharedLayout(1, 1, 1, layout.order)
