@gluon.jit
def tmem_sum(acc, layout: gl.constexpr, dots):
    """The value of a sum that may stand in tensor memory; that holds nothing before the first of its `dots`."""
    if in_tmem(acc):
        total = gl.full(acc.shape, 0, acc.dtype, layout=layout)
        if dots > 0:
            total = acc.load(layout)
        return total
    else:
        return acc
