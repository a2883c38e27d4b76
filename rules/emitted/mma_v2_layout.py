@gluon.constexpr_function
def mma_v2_layout(shape, num_warps, chained, follows):
    """The layout of a result of mma.sync: 16 x 8 per warp, warps over the tile or, beside other dots, one side of it.

    `follows`: the shape of the last dot of the block, whose longer side all of its dots divide. Of a batch, the warps
    take a matrix each first; those that are left divide every matrix.
    """
    rank = len(shape)
    m, n = shape[rank - 2], shape[rank - 1]
    if rank == 2 and (chained or follows):
        first = follows if follows else shape
        tall = first[len(first) - 2] >= first[len(first) - 1]
        return gl.NVMMADistributedLayout([2, 0], [num_warps, 1] if tall else [1, num_warps], [16, 8])
    batch = min(shape[0], num_warps) if rank == 3 else 1
    # As Triton: the warps halve the side with more instructions left, M of two equal ones.
    warps, left = [1, 1], [max(m // 16, 1), max(n // 8, 1)]
    while batch * warps[0] * warps[1] < num_warps:
        side = 0 if left[0] >= left[1] else 1
        warps[side] *= 2
        left[side] = max(left[side] // 2, 1)
    if rank == 3:
        return gl.NVMMADistributedLayout([2, 0], [batch, *warps], [1, 16, 8])
    return gl.NVMMADistributedLayout([2, 0], warps, [16, 8])
