from triton.experimental.gluon.language.nvidia.blackwell import allocate_tensor_memory


@gluon.jit
def dot_scaled(
    lhs,
    lhs_scale,
    lhs_format: gl.constexpr,
    rhs,
    rhs_scale,
    rhs_format: gl.constexpr,
    acc,
    fast_math: gl.constexpr = False,
    lhs_k_pack: gl.constexpr = True,
    rhs_k_pack: gl.constexpr = True,
    use_acc: gl.constexpr = True,
):
    """(lhs * lhs_scale) @ (rhs * rhs_scale) (+ acc) of microscaling formats, with the scales in the instruction where
    it takes them, else scaled in 16 bits first."""
    fits: gl.constexpr = scales_fit(
        lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, lhs_k_pack, rhs_k_pack, gl.num_warps()
    )
    if not fits:
        dtype: gl.constexpr = scaled_type(lhs_format, rhs_format)
        a = scaled_operand(lhs, lhs_scale, lhs_format, 0, dtype, fast_math, lhs_k_pack)
        layout: gl.constexpr = acc.type.layout
        if not in_tmem(acc) and not is_computed(a):
            # In shared memory before the other operand is scaled, which takes registers of its own.
            a = dot_operand(a, 0, layout)
        b = scaled_operand(rhs, rhs_scale, rhs_format, 1, dtype, fast_math, rhs_k_pack)
        return dot_once(a, b, acc, "tf32", use_acc)
    elif in_tmem(acc):
        scaled_v5(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, lhs_k_pack, rhs_k_pack, use_acc)
        return acc
    else:
        layout: gl.constexpr = acc.type.layout
        total = allocate_tensor_memory(acc.dtype, acc.shape, tmem_layout(acc.shape, acc.dtype))
        if use_acc:
            total.store(acc)
        scaled_v5(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, total, lhs_k_pack, rhs_k_pack, use_acc)
        return total.load(layout)
