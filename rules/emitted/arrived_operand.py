@gluon.jit
def arrived_operand(smem, index: gl.constexpr, result_layout: gl.constexpr):
    """A copied tile that is cast before a dot: in registers as mma.sync reads operand `index`, or as memory has it."""
    if result_layout is None:
        return smem.load(coalesced(smem.shape, smem.dtype.primitive_bitwidth, smem.layout.order, gl.num_warps()))
    else:
        return smem.load(gl.DotOperandLayout(index, result_layout, operand_width(smem.dtype)))
