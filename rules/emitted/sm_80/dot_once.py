@gluon.jit
def dot_once(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr):
    """a @ b + acc in the instructions that acc's layout is made for; float32 at the precision that is named."""
    if not is_mma(acc.type.layout):
        return dot_exact(a, b, acc)
    elif a.dtype.is_fp8() and not is_shared(a) and not is_shared(b):
        # Before sm_89 there are no instructions for fp8, and float16 holds all of it.
        return dot_v2(a.to(gl.float16), b.to(gl.float16), acc, precision)
    else:
        return dot_v2(a, b, acc, precision)
