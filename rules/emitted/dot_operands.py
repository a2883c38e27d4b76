@gluon.jit
def dot_operands(x, indices: gl.constexpr, layouts: gl.constexpr, precision: gl.constexpr = F32_PRECISION):
    """A tile that several dots read, put once where all of them can read it from; else x."""
    if read_alike(x.dtype, indices, layouts):
        return dot_operand(x, indices[0], layouts[0], precision)
    else:
        return x
