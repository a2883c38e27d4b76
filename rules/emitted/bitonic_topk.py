@gluon.jit
def bitonic_topk(x, k: gl.constexpr, layout: gl.constexpr, descending: gl.constexpr = True):
    """tl.topk: the k largest (smallest if not descending) along the last dimension, in order, in the given layout."""
    width: gl.constexpr = x.shape[len(x.shape) - 1]
    gl.static_assert(k <= width, "topk: k is larger than the last dimension")
    stages: gl.constexpr = exact_log2(width)
    kept: gl.constexpr = exact_log2(k)
    if k == 1:
        rows = gl.reshape(x, [x.numel // width, width])
        best = gl.max(rows, axis=1) if descending else gl.min(rows, axis=1)
    else:
        best = x
        for stage in gl.static_range(1, kept + 1):
            best = bitonic_stage(best, stage, None if stage < stages else descending)
        # Two sorted runs of k, one of them backwards: the better of each two elements are the k best, in bitonic order.
        for stage in gl.static_range(kept + 1, stages + 1):
            runs = gl.reshape(best, [best.numel // (2 * k), 2, k])
            best = gl.max(runs, axis=1) if descending else gl.min(runs, axis=1)
            best = bitonic_stage(best, kept, None if stage < stages else descending)
    return gl.convert_layout(gl.reshape(best, x.shape[:-1] + [k]), layout)
