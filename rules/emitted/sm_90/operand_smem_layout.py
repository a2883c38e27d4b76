@gluon.constexpr_function
def operand_smem_layout(layout, shape, dtype, index):
    """Shared memory for an operand of a warpgroup instruction. 16-bit tiles keep their order, others lie along K."""
    transposed = column_major(layout) if dtype.primitive_bitwidth == 16 else index == 1
    return gl.NVMMASharedLayout.get_default_for(shape, dtype, transposed=transposed)
