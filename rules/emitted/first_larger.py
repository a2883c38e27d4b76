@gluon.jit
def first_larger(a, a_index, b, b_index):
    """Of two (value, index) pairs the larger value; of equal ones the smaller index."""
    take = (a > b) | ((a == b) & (a_index < b_index))
    return gl.where(take, a, b), gl.where(take, a_index, b_index)
