@gluon.jit
def max_with_any_index(x, axis: gl.constexpr, keep_dims: gl.constexpr):
    """The largest element along an axis and a place where it stands."""
    return gl.reduce((x, index_along(x, axis)), axis, any_larger, keep_dims=keep_dims)
