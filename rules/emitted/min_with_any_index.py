@gluon.jit
def min_with_any_index(x, axis: gl.constexpr, keep_dims: gl.constexpr):
    """The smallest element along an axis and a place where it stands."""
    return gl.reduce((x, index_along(x, axis)), axis, any_smaller, keep_dims=keep_dims)
