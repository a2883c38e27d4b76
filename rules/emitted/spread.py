@gluon.jit
def spread(value, shape: gl.constexpr, layout: gl.constexpr):
    """A scalar as a tensor of one value."""
    scalar = gl.to_tensor(value)
    return gl.full(shape, scalar, scalar.dtype, layout=layout)
