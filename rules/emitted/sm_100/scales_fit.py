@gluon.constexpr_function
def scales_fit(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, lhs_k_pack, rhs_k_pack, num_warps):
    """Whether Blackwell's instructions can do a dot of microscaling formats with its scales.

    Where e2m1 takes a byte for each number, Gluon has shared memory for it in rows of 128 bytes alone.
    """
    if lhs_scale is None or rhs_scale is None or {lhs_format, rhs_format} & {"fp16", "bf16"}:
        return False
    m = lhs.shape[0] if lhs_k_pack else 2 * lhs.shape[0]
    n = rhs.shape[1] if rhs_k_pack else 2 * rhs.shape[1]
    if lhs_format != rhs_format or not (lhs_k_pack and rhs_k_pack):
        if lhs_format == "e2m1" and lhs.shape[1 if lhs_k_pack else 0] < 64:
            return False
        if rhs_format == "e2m1" and rhs.shape[0 if rhs_k_pack else 1] < 64:
            return False
    return m >= 128 and n >= 16 and lhs.shape[1] >= 32 and num_warps in (4, 8)
