from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma


@gluon.jit
def dot_started(a, b, acc, precision: gl.constexpr = F32_PRECISION, use_acc: gl.constexpr = True):
    """a @ b (+ acc), left under way where warpgroup instructions do it: `dot_awaited` gives the result."""
    layout: gl.constexpr = acc.type.layout
    if not may_start(a, b, layout, precision):
        return dot_as(a, b, acc, precision, use_acc)
    elif in_registers(a):
        a_layout: gl.constexpr = gl.DotOperandLayout(0, layout, operand_width(a.dtype))
        a_regs = gl.convert_layout(a, a_layout)
        # The tensor cores read shared memory through the async proxy: order the stores before them.
        fence_async_shared()
        return warpgroup_mma(a_regs, b, acc, use_acc=use_acc, is_async=True)
    else:
        # The tensor cores read shared memory through the async proxy: order the stores before them.
        fence_async_shared()
        return warpgroup_mma(a, b, acc, use_acc=use_acc, is_async=True)
