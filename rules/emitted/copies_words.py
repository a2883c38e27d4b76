@gluon.constexpr_function
def copies_words(layout, smem_layout, dtype, in_runs):
    """Whether each thread has 4 bytes in one piece to copy, in memory and in shared memory: cp.async copies no less."""
    if isinstance(smem_layout, gl.NVMMASharedLayout):
        same_order = smem_layout.transposed == (layout.order[0] != len(layout.order) - 1)
    else:
        same_order = smem_layout.order[0] == layout.order[0]
    run = layout.size_per_thread[layout.order[0]] if in_runs and same_order else 1
    return run * dtype.primitive_bitwidth >= 32
