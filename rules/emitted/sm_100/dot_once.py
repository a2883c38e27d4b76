from triton.experimental.gluon.language.nvidia.blackwell import allocate_tensor_memory


@gluon.jit
def dot_once(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr):
    """a @ b (+ acc) in the instructions that acc is placed for; float32 at the precision that is named."""
    if in_tmem(acc):
        dot_v5(a, b, acc, use_acc)
        return acc
    elif is_tcgen05(acc.type.layout):
        layout: gl.constexpr = acc.type.layout
        product = allocate_tensor_memory(acc.dtype, acc.shape, tmem_layout(acc.shape, acc.dtype))
        if use_acc:
            product.store(acc)
        dot_v5(a, b, product, use_acc)
        return product.load(layout)
    elif is_mma(acc.type.layout):
        return dot_v2(a, b, acc, precision)
    else:
        return dot_exact(a, b, acc)
