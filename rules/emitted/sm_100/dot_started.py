from triton.experimental.gluon.language.nvidia.blackwell import fence_async_shared, tcgen05_commit, tcgen05_mma


@gluon.jit
def dot_started(a, b, acc, done, use_acc, precision: gl.constexpr = F32_PRECISION):
    """a @ b (+ acc), left under way in tensor memory until `done` says so; other instructions are over at once.

    `done`: None where a dot behind it speaks for it. Without `use_acc` acc holds nothing yet, or zeros.
    """
    if may_start(a, b, acc, precision):
        # The tensor cores read shared memory through the async proxy: order the stores before them.
        fence_async_shared()
        if done is None:
            tcgen05_mma(a, b, acc, use_acc=use_acc)
        else:
            tcgen05_mma(a, b, acc, use_acc=use_acc, mbarriers=[done])
        return acc
    else:
        if not use_acc and in_tmem(acc):
            acc.store(gl.full(acc.shape, 0, acc.dtype, layout=tmem_registers(acc.shape, gl.num_warps())))
        total = dot_as(a, b, acc, precision, True)
        if done is not None:
            # For dots before it, too, that are still under way.
            tcgen05_commit(done)
        return total
