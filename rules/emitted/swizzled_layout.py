@gluon.constexpr_function
def swizzled_layout(layout, shape, index, dtype):
    """Shared memory for an operand of mma.sync: the order the tile has in registers, without bank conflicts."""
    rank = len(shape)
    bits = dtype.primitive_bitwidth
    k_width = max(1, 32 // bits)
    order = list(range(rank))[::-1]
    if column_major(layout):
        order[0], order[1] = order[1], order[0]
    inner = order[0] == (rank - 1 if index == 0 else rank - 2)
    per_phase = max(1, 128 // max(1, shape[order[0]] * 4 // k_width))
    vec, stride = (4 * k_width, 8) if inner else (8, 4 * k_width)
    return gl.SwizzledSharedLayout(vec, per_phase, max(1, stride // per_phase), order)
