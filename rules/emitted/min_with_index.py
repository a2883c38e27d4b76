@gluon.jit
def min_with_index(x, axis: gl.constexpr, keep_dims: gl.constexpr):
    """The smallest element along an axis and the first place it stands."""
    return gl.reduce((x, index_along(x, axis)), axis, first_smaller, keep_dims=keep_dims)
