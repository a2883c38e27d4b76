@gluon.jit
def bitonic_merge(x, descending: gl.constexpr = False):
    """tl.bitonic_merge: sorts rows that rise and then fall, or fall and then rise. The result has the layout of x."""
    merged = bitonic_stage(x, exact_log2(x.shape[len(x.shape) - 1]), descending)
    return gl.convert_layout(merged, x.type.layout)
