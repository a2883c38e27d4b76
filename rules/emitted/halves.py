@gluon.jit
def halves(x, layout: gl.constexpr):
    """The first and the second elements of a last dimension of two, which stand in one thread, in the given layout."""
    first, second = gl.split(x)
    return gl.convert_layout(first, layout), gl.convert_layout(second, layout)
