@gluon.jit
def compare_and_swap(x, bit: gl.constexpr, stage: gl.constexpr, descending: gl.constexpr):
    """Orders every two elements whose indices differ in `bit` only; for descending=None by bit `stage` of the index."""
    low: gl.constexpr = 1 << bit
    # Axis 3 is the bit that is compared, axis 1 the one that may turn the order round. A reshape moves no element.
    between: gl.constexpr = 1 << (stage - bit - 1) if descending is None else 1
    turns: gl.constexpr = 2 if descending is None else 1
    pairs = gl.reshape(x, [x.numel // (2 * turns * between * low), turns, between, 2, low])
    bits = pairs.to(integer_like(x.dtype), bitcast=True)
    # Both elements of a pair xored with one of them is the other one.
    partner = (bits ^ gl.xor_sum(bits, 3, keep_dims=True)).to(x.dtype, bitcast=True)
    layout: gl.constexpr = pairs.type.layout
    second_layout: gl.constexpr = gl.SliceLayout(0, gl.SliceLayout(1, gl.SliceLayout(2, gl.SliceLayout(4, layout))))
    second = gl.arange(0, 2, layout=second_layout)[None, None, None, :, None]
    if descending is None:
        turned_layout: gl.constexpr = gl.SliceLayout(0, gl.SliceLayout(2, gl.SliceLayout(3, gl.SliceLayout(4, layout))))
        turned = gl.arange(0, 2, layout=turned_layout)[None, :, None, None, None]
    else:
        turned = descending
    swap = (pairs > partner) != (turned ^ second).to(gl.int1)
    return gl.reshape(gl.where(swap, partner, pairs), x.shape)
