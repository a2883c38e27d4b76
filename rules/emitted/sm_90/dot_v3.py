from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma, warpgroup_mma_wait


@gluon.jit
def dot_v3(a, b, acc, use_acc: gl.constexpr):
    """a @ b (+ acc) with Hopper's warpgroup instructions; the left operand stays in registers if a dot left it so."""
    layout: gl.constexpr = acc.type.layout
    if in_registers(a):
        b_smem = operand_smem(b, 1)
        a_layout: gl.constexpr = gl.DotOperandLayout(0, layout, operand_width(a.dtype))
        a_regs = gl.convert_layout(a, a_layout)
        # The tensor cores read shared memory through the async proxy: order the stores before them.
        fence_async_shared()
        pending = warpgroup_mma(a_regs, b_smem, acc, use_acc=use_acc, is_async=True)
        # A wait of its own, for the operands too, as Triton writes it.
        return warpgroup_mma_wait(0, deps=[pending, b_smem])[0]
    else:
        a_smem = operand_smem(a, 0)
        b_smem = operand_smem(b, 1)
        # The tensor cores read shared memory through the async proxy: order the stores before them.
        fence_async_shared()
        pending = warpgroup_mma(a_smem, b_smem, acc, use_acc=use_acc, is_async=True)
        return warpgroup_mma_wait(0, deps=[pending, a_smem, b_smem])[0]
