@gluon.jit
def merged(x, dim: gl.constexpr):
    """A dimension and the one behind it as one."""
    return gl.reshape(x, x.shape[:dim] + [x.shape[dim] * x.shape[dim + 1]] + x.shape[dim + 2 :])
