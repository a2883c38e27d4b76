@gluon.jit
def max_with_index(x, axis: gl.constexpr, keep_dims: gl.constexpr):
    """The largest element along an axis and the first place it stands."""
    return gl.reduce((x, index_along(x, axis)), axis, first_larger, keep_dims=keep_dims)
