@gluon.jit
def dot_split(a, b, acc, precision: gl.constexpr, use_acc: gl.constexpr):
    """a @ b (+ acc) to nearly the precision of float32: dots of the leading and the trailing bits, smallest first."""
    layout: gl.constexpr = acc.type.layout
    a = split_operand(a, 0, layout, precision)
    b = split_operand(b, 1, layout, precision)
    a_lead = leading_bits(a, precision)
    b_lead = leading_bits(b, precision)
    a_rest = a - a_lead.to(gl.float32)
    b_rest = b - b_lead.to(gl.float32)
    if precision == "tf32x3":
        a_next = a_rest
        b_next = b_rest
    else:
        a_next = a_rest.to(gl.bfloat16)
        b_next = b_rest.to(gl.bfloat16)
    a_lead_part = part_operand(a_lead, 0, layout)
    b_lead_part = part_operand(b_lead, 1, layout)
    a_next_part = part_operand(a_next, 0, layout)
    b_next_part = part_operand(b_next, 1, layout)
    product = gl.full(acc.shape, 0, acc.dtype, layout=layout)
    if precision == "bf16x6":
        a_last = (a_rest - a_next.to(gl.float32)).to(gl.bfloat16)
        b_last = (b_rest - b_next.to(gl.float32)).to(gl.bfloat16)
        product = dot_once(a_next_part, b_next_part, product, "tf32", False)
        product = dot_once(a_last, b_lead_part, product, "tf32", True)
        product = dot_once(a_lead_part, b_last, product, "tf32", True)
    product = dot_once(a_next_part, b_lead_part, product, "tf32", precision == "bf16x6")
    product = dot_once(a_lead_part, b_next_part, product, "tf32", True)
    # Infinity times a trailing zero is NaN; the leading bits alone say what such a product is.
    product = gl.where(product == product, product, 0.0)
    product = dot_once(a_lead_part, b_lead_part, product, "tf32", True)
    if use_acc:
        product += acc
    return product
