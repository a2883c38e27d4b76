@gluon.jit
def dot_as(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr):
    """a @ b (+ acc), float32 at the precision that is named: "tf32", "tf32x3" or "ieee"."""
    if precision == "tf32x3" and acc.dtype == gl.float32 and a.dtype == gl.float32:
        return dot_tf32x3(a, b, acc, use_acc)
    else:
        return dot_once(a, b, acc, precision, use_acc)
