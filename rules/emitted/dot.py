@gluon.jit
def dot(a, b, acc):
    """acc + a @ b."""
    return dot_as(a, b, acc, F32_PRECISION, True)
