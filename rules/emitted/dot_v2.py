from triton.experimental.gluon.language.nvidia.ampere import mma_v2


@gluon.jit
def dot_v2(a, b, acc, precision: gl.constexpr):
    """acc + a @ b with mma.sync; the left operand stays in registers where an earlier dot left it there."""
    layout: gl.constexpr = acc.type.layout
    k_width: gl.constexpr = operand_width(a.dtype)
    a_layout: gl.constexpr = gl.DotOperandLayout(0, layout, k_width)
    b_layout: gl.constexpr = gl.DotOperandLayout(1, layout, k_width)
    if is_operand(b):
        a_regs = a
        b_regs = b
    elif in_registers(a):
        b_smem = staged(b, 1)
        a_regs = gl.convert_layout(a, a_layout)
        b_regs = b_smem.load(b_layout)
    else:
        a_smem = staged(a, 0)
        b_smem = staged(b, 1)
        a_regs = a_smem.load(a_layout)
        b_regs = b_smem.load(b_layout)
    return mma_v2(mma_v2_operand(a_regs), mma_v2_operand(b_regs), acc, input_precision=precision)
