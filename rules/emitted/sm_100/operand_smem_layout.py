@gluon.constexpr_function
def operand_smem_layout(layout, shape, dtype, index):
    """Shared memory for an operand of Blackwell's instructions. Tiles keep their order, but 32 bits lie along K."""
    transposed = column_major(layout) if dtype.primitive_bitwidth < 32 else index == 1
    return gl.NVMMASharedLayout.get_default_for(shape, dtype, transposed=transposed)
