@gluon.constexpr_function
def read_alike(dtype, indices, layouts):
    """Whether dots read one copy of an operand: with the same instructions, and along one side or 16-bit elements."""
    kinds = [getattr(layout, "version", None) for layout in layouts]
    return all(kind == kinds[0] for kind in kinds) and (dtype.primitive_bitwidth == 16 or len(set(indices)) == 1)
