@gluon.jit
def dot_limited(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr, limit: gl.constexpr):
    """a @ b (+ acc). The limit is for Hopper's instructions, which add up fp8 in short accumulators."""
    return dot_as(a, b, acc, precision, use_acc)
