@gluon.jit
def bitonic_stage(x, stage: gl.constexpr, descending: gl.constexpr):
    """Sorts bitonic runs of 2**stage elements of the last dimension, every other one backwards for descending=None."""
    for step in gl.static_range(stage):
        x = compare_and_swap(x, stage - 1 - step, stage, descending)
    return x
