@gluon.jit
def dot_split(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr):
    """a @ b (+ acc) to nearly the precision of float32: dots of the leading and the trailing bits, smallest first."""
    a_lead = leading_bits(a, precision)
    b_lead = leading_bits(b, precision)
    a_rest = a - a_lead.to(gl.float32)
    b_rest = b - b_lead.to(gl.float32)
    product = gl.full(acc.shape, 0, acc.dtype, layout=acc.type.layout)
    if precision == "tf32x3":
        a_next = a_rest
        b_next = b_rest
    else:
        a_next = a_rest.to(gl.bfloat16)
        b_next = b_rest.to(gl.bfloat16)
    if precision == "bf16x6":
        a_last = (a_rest - a_next.to(gl.float32)).to(gl.bfloat16)
        b_last = (b_rest - b_next.to(gl.float32)).to(gl.bfloat16)
        product = dot_once(a_next, b_next, product, "tf32", False)
        product = dot_once(a_last, b_lead, product, "tf32", True)
        product = dot_once(a_lead, b_last, product, "tf32", True)
    product = dot_once(a_next, b_lead, product, "tf32", precision == "bf16x6")
    product = dot_once(a_lead, b_next, product, "tf32", True)
    # Infinity times a trailing zero is NaN; the leading bits alone say what such a product is.
    product = gl.where(product == product, product, 0.0)
    product = dot_once(a_lead, b_lead, product, "tf32", True)
    if use_acc:
        product += acc
    return product
