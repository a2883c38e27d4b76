@gluon.jit
def split_operand(x, index: gl.constexpr, layout: gl.constexpr, precision: gl.constexpr):
    """A float32 operand where it is taken apart: in the registers that tensor cores read it from, if they do."""
    if not is_mma(layout) or (index == 1 and (is_wgmma(layout) or is_mma(x.type.layout))):
        return x
    else:
        width: gl.constexpr = operand_width(part_type(x.dtype, precision))
        operand_layout: gl.constexpr = gl.DotOperandLayout(index, layout, width)
        if index == 0 and in_registers(x):
            return gl.convert_layout(x, operand_layout)
        else:
            return staged(x, index).load(operand_layout)
