@gluon.constexpr_function
def scaled_smem_layout(layout, shape, dtype, form, index, k_pack, padded):
    """Shared memory for an operand with scales: e2m1 lies along what it is packed along, and takes a byte for each
    number (`padded`) beside another format; fp8 keeps its order."""
    if form != "e2m1":
        return gl.NVMMASharedLayout.get_default_for(shape, dtype, transposed=column_major(layout))
    transposed = (index == 1) == bool(k_pack)
    return gl.NVMMASharedLayout.get_default_for(shape, dtype, transposed=transposed, fp4_padded=padded)
