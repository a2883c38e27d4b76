from triton.experimental.gluon.language.nvidia.blackwell import mbarrier


@gluon.jit
def dot_awaited(done, number):
    """Returns when the dot of this number is over: they signal two barriers in turn, from number 0 on.

    Before the first dot, for number -1, the barriers are in the phase behind the one that is asked for.
    """
    mbarrier.wait(done.index(number & 1), number >> 1 & 1)
