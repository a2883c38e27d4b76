@gluon.constexpr_function
def left_layout(result_layout, dtype, otherwise):
    """The layout of a tile that is computed with before a dot takes it as its left operand: the registers that tensor
    cores read 16-bit elements from; `otherwise` for others.
    """
    if is_mma(result_layout) and dtype.primitive_bitwidth == 16:
        return gl.DotOperandLayout(0, result_layout, operand_width(dtype))
    return otherwise
