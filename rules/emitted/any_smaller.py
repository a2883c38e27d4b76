@gluon.jit
def any_smaller(a, a_index, b, b_index):
    """Of two (value, index) pairs the smaller value; of equal ones either."""
    take = a < b
    return gl.where(take, a, b), gl.where(take, a_index, b_index)
