@gluon.constexpr_function
def in_registers(x):
    """Whether an operand is a tile that an earlier dot left in the warps that read it: none of them has a part of K."""
    if is_operand(x):
        return True
    if not isinstance(x, gl.tensor) or not isinstance(x.type.layout, gl.NVMMADistributedLayout):
        return False
    warps = x.type.layout.warps_per_cta
    return warps[len(warps) - 1] == 1
