@gluon.jit
def softmax(x, dim: gl.constexpr, ieee_rounding: gl.constexpr):
    """exp(x - max(x)) / sum(exp(x - max(x))) along a dimension; the shape stays."""
    if len(x.shape) == 1:
        powers = gl.exp(x - gl.max(x, 0))
        return gl.fdiv(powers, gl.sum(powers, 0), ieee_rounding)
    else:
        powers = gl.exp(x - gl.max(x, dim, keep_dims=True))
        return gl.fdiv(powers, gl.sum(powers, dim, keep_dims=True), ieee_rounding)
