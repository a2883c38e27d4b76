@gluon.jit
def filled(value, like):
    """A scalar in the shape and layout of a tensor: Gluon does not spread it by itself here."""
    scalar = gl.to_tensor(value)
    return gl.full(like.shape, scalar, scalar.dtype, layout=like.type.layout)
