@gluon.jit
def bitonic_sort(x, descending: gl.constexpr = False):
    """tl.sort: sorts along the last dimension. The result has the layout of x."""
    stages: gl.constexpr = exact_log2(x.shape[len(x.shape) - 1])
    ordered = x
    for stage in gl.static_range(1, stages + 1):
        ordered = bitonic_stage(ordered, stage, None if stage < stages else descending)
    return gl.convert_layout(ordered, x.type.layout)
