@gluon.constexpr_function
def may_start(a, b, layout, precision):
    """Whether one run of warpgroup instructions does a dot whose operands stay where they are while it is under way."""
    reachable = is_shared(b) and (is_shared(a) or in_registers(a))
    return is_wgmma(layout) and reachable and not is_split(a.dtype, precision)
