@gluon.jit
def dot_added(a, b, acc, precision: gl.constexpr = F32_PRECISION):
    """acc + a @ b, added in the instruction."""
    return dot_as(a, b, acc, precision, True)
