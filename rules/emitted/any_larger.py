@gluon.jit
def any_larger(a, a_index, b, b_index):
    """Of two (value, index) pairs the larger value; of equal ones either."""
    take = a > b
    return gl.where(take, a, b), gl.where(take, a_index, b_index)
