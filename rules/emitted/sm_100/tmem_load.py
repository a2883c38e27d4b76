@gluon.jit
def tmem_load(acc, layout: gl.constexpr):
    """The value of a sum that may stand in tensor memory."""
    if in_tmem(acc):
        return acc.load(layout)
    else:
        return acc
