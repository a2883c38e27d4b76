@gluon.constexpr_function
def turned_layout(shape, dtype):
    """The layout of a matrix that lies by rows in memory that held it by columns."""
    return gl.NVMMASharedLayout.get_default_for([shape[1], shape[0]], dtype)
