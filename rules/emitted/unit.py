@gluon.constexpr_function
def unit(stride):
    """True where Triton specialised the stride to the constant 1."""
    return isinstance(stride, int) and stride == 1
