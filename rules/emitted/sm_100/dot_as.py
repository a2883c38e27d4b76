@gluon.jit
def dot_as(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr):
    """a @ b (+ acc), float32 at the precision that is named: "tf32", "ieee", or in several dots as "tf32x3"."""
    if not is_split(a.dtype, precision) or acc.dtype != gl.float32:
        return dot_once(a, b, acc, precision, use_acc)
    elif in_tmem(acc):
        layout: gl.constexpr = tmem_registers(acc.shape, gl.num_warps())
        acc.store(dot_split(a, b, acc.load(layout), precision, use_acc))
        return acc
    else:
        return dot_split(a, b, acc, precision, use_acc)
