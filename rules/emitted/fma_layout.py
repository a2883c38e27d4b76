@gluon.constexpr_function
def fma_layout(shape, num_warps):
    """The layout of a dot without tensor cores: up to 4 x 4 elements per thread."""
    rank = len(shape)
    m, n = shape[rank - 2], shape[rank - 1]
    share = m * n // (32 * num_warps)
    side = 4 if share >= 16 else 2 if share >= 4 else 1
    per_thread, lanes, warps = [1] * rank, [1] * rank, [1] * rank
    per_thread[rank - 1], per_thread[rank - 2] = min(side, n), min(side, m)
    lanes_left, warps_left, threads_left = 32, num_warps, 32 * num_warps
    for dim in list(range(rank))[:0:-1]:
        threads = max(1, min(threads_left, shape[dim] // per_thread[dim]))
        lanes[dim] = min(threads, lanes_left)
        warps[dim] = max(1, min(threads // lanes[dim], warps_left))
        lanes_left //= lanes[dim]
        warps_left //= warps[dim]
        threads_left //= threads
    lanes[0] *= lanes_left
    warps[0] *= warps_left
    return gl.BlockedLayout(per_thread, lanes, warps, list(range(rank))[::-1])
