@gluon.jit
def scaled_operand(
    x,
    scale,
    form: gl.constexpr,
    index: gl.constexpr,
    dtype: gl.constexpr,
    fast_math: gl.constexpr,
    k_pack: gl.constexpr,
):
    """An operand of a dot in microscaling format as numbers of 16 bits, times its scales along K."""
    x = x.to(format_type(form), bitcast=True)
    if form == "e2m1":
        axis: gl.constexpr = 1 - index if k_pack else index
        x = gl.fp4_to_fp(x, dtype, axis)
    else:
        x = x.to(dtype)
    if scale is None:
        return x
    else:
        number = decoded_scale(scale, dtype, fast_math)
        groups: gl.constexpr = scale.shape[1]
        if index == 0:
            parts = gl.reshape(x, [x.shape[0], groups, x.shape[1] // groups])
            number = gl.convert_layout(number, gl.SliceLayout(2, parts.type.layout))
        else:
            parts = gl.reshape(x, [groups, x.shape[0] // groups, x.shape[1]])
            number = gl.convert_layout(gl.permute(number, [1, 0]), gl.SliceLayout(1, parts.type.layout))
        product = parts * gl.expand_dims(number, 2 - index)
        return gl.convert_layout(gl.reshape(product, x.shape), x.type.layout)
