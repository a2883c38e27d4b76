@gluon.jit
def of_type(x, dtype: gl.constexpr):
    """A dot's operand in a type: where it is, if that is its own; else in registers."""
    if x.dtype == dtype:
        return x
    elif is_shared(x):
        order: gl.constexpr = [0, 1] if x.layout.transposed else [1, 0]
        return x.load(coalesced(x.shape, x.dtype.primitive_bitwidth, order, gl.num_warps())).to(dtype)
    else:
        return x.to(dtype)
