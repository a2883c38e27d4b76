@gluon.constexpr_function
def coalesced(shape, element_bits, order, num_warps):
    """16 bytes per thread along order[0], then lanes, then warps: what Triton's coalescing pass picks."""
    rank = len(shape)
    numel = 1
    for size in shape:
        numel *= size
    per_thread, lanes, warps = [1] * rank, [1] * rank, [1] * rank
    per_thread[order[0]] = max(1, min(128 // element_bits, numel // (32 * num_warps), shape[order[0]]))
    lanes_left, warps_left, threads_left = 32, num_warps, 32 * num_warps
    for dim in order[:-1]:
        threads = max(1, min(threads_left, shape[dim] // per_thread[dim]))
        lanes[dim] = min(threads, lanes_left)
        warps[dim] = max(1, min(threads // lanes[dim], warps_left))
        lanes_left //= lanes[dim]
        warps_left //= warps[dim]
        threads_left //= threads
    lanes[order[-1]] = lanes_left
    warps[order[-1]] = warps_left
    return gl.BlockedLayout(per_thread, lanes, warps, order)
