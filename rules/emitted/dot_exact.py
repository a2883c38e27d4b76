@gluon.jit
def dot_exact(a, b, acc):
    """acc + a @ b by fused multiply-adds in the type of the accumulator, without tensor cores."""
    layout: gl.constexpr = acc.type.layout
    rank: gl.constexpr = len(acc.shape)
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, row_major(rank))
    a_smem = gl.allocate_shared_memory(a.dtype, a.shape, plain, a)
    b_smem = gl.allocate_shared_memory(b.dtype, b.shape, plain, b)
    a_layout: gl.constexpr = gl.DotOperandLayout(0, layout, 0)
    b_layout: gl.constexpr = gl.DotOperandLayout(1, layout, 0)
    return gl.dot_fma(a_smem.load(a_layout), b_smem.load(b_layout), acc)
