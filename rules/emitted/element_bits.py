@gluon.constexpr_function
def element_bits(*pointers):
    """The width of the narrowest element behind the pointers: it takes the most elements to fill 16 bytes."""
    types = [getattr(p, "dtype", p) for p in pointers if p is not None]
    return min((t.element_ty.primitive_bitwidth for t in types if t.is_ptr()), default=128)
