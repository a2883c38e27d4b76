@gluon.jit
def concatenated(a, b, dim: gl.constexpr):
    """Two tensors of one shape one after the other along a dimension."""
    shape: gl.constexpr = a.shape[:dim] + [2 * a.shape[dim]] + a.shape[dim + 1 :]
    rank: gl.constexpr = len(a.shape)
    return gl.reshape(gl.permute(gl.join(a, b), pair_order(rank, dim)), shape)
