@gluon.constexpr_function
def product_shape(a, b):
    """The shape of a @ b."""
    return [*a.shape[:-1], b.shape[-1]]
