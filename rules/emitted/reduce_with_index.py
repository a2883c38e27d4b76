@gluon.jit
def reduce_with_index(x, axis: gl.constexpr, choose, keep_dims: gl.constexpr):
    """The element that `choose` prefers along an axis, and its position there."""
    return gl.reduce((x, index_along(x, axis)), axis, choose, keep_dims=keep_dims)
