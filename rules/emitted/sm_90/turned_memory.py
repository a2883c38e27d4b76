@gluon.jit
def turned_memory(memory):
    """The memory of a matrix that lies by rows, taken for one of the same elements by columns."""
    layout: gl.constexpr = turned_layout(memory.shape, memory.dtype)
    if has_reinterpret(memory):
        turned = memory.reinterpret(memory.dtype, [memory.shape[1], memory.shape[0]], layout)
    else:
        turned = memory._reinterpret(memory.dtype, [memory.shape[1], memory.shape[0]], layout)
    return turned
