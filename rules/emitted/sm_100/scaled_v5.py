from triton.experimental.gluon.language.nvidia.blackwell import fence_async_shared, mbarrier, tcgen05_mma_scaled


@gluon.jit
def scaled_v5(
    lhs,
    lhs_scale,
    lhs_format: gl.constexpr,
    rhs,
    rhs_scale,
    rhs_format: gl.constexpr,
    acc,
    lhs_k_pack: gl.constexpr,
    rhs_k_pack: gl.constexpr,
    use_acc: gl.constexpr,
):
    """(lhs * lhs_scale) @ (rhs * rhs_scale) (+ acc) into acc, which stands in tensor memory."""
    padded: gl.constexpr = lhs_format != rhs_format or not (lhs_k_pack and rhs_k_pack)
    a_smem = scaled_smem(lhs, lhs_format, 0, lhs_k_pack, padded)
    b_smem = scaled_smem(rhs, rhs_format, 1, rhs_k_pack, padded)
    a_scale = scale_tmem(lhs_scale)
    b_scale = scale_tmem(rhs_scale)
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(done, count=1)
    # The tensor cores read shared memory through the async proxy: order the stores before them.
    fence_async_shared()
    tcgen05_mma_scaled(a_smem, b_smem, acc, a_scale, b_scale, lhs_format, rhs_format, use_acc=use_acc, mbarriers=[done])
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
