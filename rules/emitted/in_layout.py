@gluon.jit
def in_layout(x, layout: gl.constexpr):
    """A tile in another layout; a number, which has none, as it is."""
    if is_tile(x):
        return gl.convert_layout(x, layout)
    else:
        return x
