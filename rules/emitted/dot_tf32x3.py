@gluon.jit
def dot_tf32x3(a, b, acc, use_acc: gl.constexpr):
    """a @ b (+ acc) to nearly the precision of float32: three tf32 dots of the leading and the trailing bits."""
    a_lead = as_tf32(a)
    b_lead = as_tf32(b)
    a_rest = as_tf32(a - a_lead)
    b_rest = as_tf32(b - b_lead)
    product = dot_once(a_rest, b_lead, gl.full(acc.shape, 0, acc.dtype, layout=acc.type.layout), "tf32", False)
    product = dot_once(a_lead, b_rest, product, "tf32", True)
    # Infinity times a trailing zero is NaN; the leading bits alone say what such a product is.
    product = gl.where(product == product, product, 0.0)
    product = dot_once(a_lead, b_lead, product, "tf32", True)
    if use_acc:
        product += acc
    return product
