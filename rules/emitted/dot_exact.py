@gluon.jit
def dot_exact(a, b, acc):
    """acc + a @ b by fused multiply-adds in the type of the accumulator, without tensor cores."""
    layout: gl.constexpr = acc.type.layout
    a_smem = exact_smem(a)
    b_smem = exact_smem(b)
    a_layout: gl.constexpr = gl.DotOperandLayout(0, layout, 0)
    b_layout: gl.constexpr = gl.DotOperandLayout(1, layout, 0)
    return gl.dot_fma(a_smem.load(a_layout), b_smem.load(b_layout), acc)
