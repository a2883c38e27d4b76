from triton.experimental.gluon.language.nvidia.blackwell import fence_async_shared, mbarrier, tcgen05_mma


@gluon.jit
def dot_v5(a, b, acc, use_acc: gl.constexpr):
    """a @ b (+ acc) into acc, which stands in tensor memory, with Blackwell's instructions."""
    if in_tmem(a):
        a_tile = a
    elif is_computed(a):
        a_tile = operand_tmem(a)
    else:
        a_tile = operand_smem(a, 0)
    b_smem = operand_smem(b, 1)
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(done, count=1)
    # The tensor cores read shared memory through the async proxy: order the stores before them.
    fence_async_shared()
    tcgen05_mma(a_tile, b_smem, acc, use_acc=use_acc, mbarriers=[done])
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
