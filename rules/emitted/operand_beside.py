@gluon.jit
def operand_beside(x, index: gl.constexpr, other):
    """A dot's operand beside one that stands where mma.sync reads it: so too, with as many elements in a run."""
    if not is_operand(other):
        return x
    else:
        layout: gl.constexpr = gl.DotOperandLayout(index, other.type.layout.parent, other.type.layout.k_width)
        if in_registers(x):
            return gl.convert_layout(x, layout)
        else:
            return staged(x, index).load(layout)
