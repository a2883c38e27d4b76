from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma, warpgroup_mma_wait


@gluon.jit
def dot_limited(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr, limit: gl.constexpr):
    """a @ b (+ acc), where at most `limit` products of fp8 are added up before they go to a full accumulator."""
    if is_wgmma(acc.type.layout) and a.dtype.is_fp8():
        a_smem = operand_smem(a, 0)
        b_smem = operand_smem(b, 1)
        # The tensor cores read shared memory through the async proxy: order the stores before them.
        fence_async_shared()
        pending = warpgroup_mma(a_smem, b_smem, acc, use_acc=use_acc, max_num_imprecise_acc=limit, is_async=True)
        return warpgroup_mma_wait(0, deps=[pending, a_smem, b_smem])[0]
    else:
        return dot_as(a, b, acc, precision, use_acc)
