@gluon.jit
def dot_as(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr):
    """a @ b (+ acc), float32 at the precision that is named: "tf32", "ieee", or in several dots as "tf32x3"."""
    if is_split(a.dtype, precision) and acc.dtype == gl.float32:
        return dot_split(a, b, acc, precision, use_acc)
    else:
        return dot_once(a, b, acc, precision, use_acc)
