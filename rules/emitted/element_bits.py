@gluon.constexpr_function
def element_bits(*pointers):
    """The width of the narrowest element behind the pointers: it takes the most elements to fill 16 bytes."""
    widths = [p.dtype.element_ty.primitive_bitwidth for p in pointers if p is not None and p.dtype.is_ptr()]
    return min(widths)
