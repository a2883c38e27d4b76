@gluon.jit
def dot_once(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr):
    """a @ b (+ acc) in the instructions that acc's layout is made for; float32 at the precision that is named."""
    if is_wgmma(acc.type.layout):
        return dot_v3(a, b, acc, use_acc)
    elif is_mma(acc.type.layout):
        return dot_v2(a, b, acc, precision)
    else:
        return dot_exact(a, b, acc)
