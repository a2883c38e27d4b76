@gluon.jit
def operand_renewed(kept, x):
    """The next left operand in the place of one that no dot reads any more."""
    if in_tmem(kept):
        registers: gl.constexpr = tmem_registers(x.shape, gl.num_warps())
        kept.store(gl.convert_layout(x, registers))
        return kept
    else:
        return x
