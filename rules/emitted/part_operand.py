@gluon.jit
def part_operand(x, index: gl.constexpr, layout: gl.constexpr):
    """A part of a float32 operand, put once where several dots read it from."""
    if is_operand(x):
        return x
    else:
        return dot_operand(x, index, layout, "tf32")
