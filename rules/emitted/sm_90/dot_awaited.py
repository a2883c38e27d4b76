from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma_wait


@gluon.jit
def dot_awaited(acc, pending: gl.constexpr):
    """The result of a dot, once no more than `pending` dots begun after it are under way."""
    if may_be_under_way(acc):
        return warpgroup_mma_wait(pending, deps=(acc,))
    else:
        return acc
