@gluon.constexpr_function
def tmem_registers(shape, num_warps, rowwise=False):
    """The registers that a tile of tensor memory is loaded to: a row or part of one per thread.

    A warp reaches a quarter of the memory's 128 lanes. The second four warps take the other half of the columns, of
    the rows where there are more than 128, or half of each quarter's lanes where no row may be in two warps
    (`rowwise`).
    """
    m, n = shape
    columns = [[0, 1 << bit] for bit in range(n.bit_length() - 1)]
    lanes = [[1, 0], [2, 0], [4, 0], [8, 0]]
    if m == 64:
        warps = [[16, 0], [32, 0]]
        if n <= 256 and num_warps == 8:
            warps.append(columns.pop())
        lanes.append(columns.pop())
        if n > 256 and num_warps == 8:
            warps.append(columns.pop())
        return gl.DistributedLinearLayout(columns, lanes, warps, [], shape)
    warps = [[32, 0], [64, 0]]
    if rowwise and m == 128 and num_warps == 8:
        return gl.DistributedLinearLayout(columns[:-1], [*lanes, columns[-1]], [*warps, [16, 0]], [], shape)
    held = columns + [[1 << bit, 0] for bit in range(7, m.bit_length() - 1)]
    if num_warps == 8:
        warps.append(held.pop())
    return gl.DistributedLinearLayout(held, [*lanes, [16, 0]], warps, [], shape)
