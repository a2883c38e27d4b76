@gluon.constexpr_function
def widens_in_registers(dtype, k, result_layout):
    """Whether an operand of 8 bits gets the dot's type where mma.sync reads it; `k`: its elements along the sum."""
    by_mma_sync = is_mma(result_layout) and result_layout.version[0] == 2
    # Four threads along the sum hold 4 neighbouring elements each, twice.
    return by_mma_sync and dtype.primitive_bitwidth == 8 and k >= 32 and not is_split(gl.float32, F32_PRECISION)
