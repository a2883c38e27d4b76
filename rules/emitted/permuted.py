@gluon.constexpr_function
def permuted(layout, order):
    """The layout that permute gives a tensor of this one: no element leaves its register."""
    order = list(order)
    if isinstance(layout, gl.BlockedLayout):
        fields = [layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta]
        moved = [[field[dim] for dim in order] for field in fields]
        return gl.BlockedLayout(*moved, [order.index(dim) for dim in layout.order])
    kinds = [layout.reg_bases, layout.lane_bases, layout.warp_bases, layout.block_bases]
    moved = [[[base[dim] for dim in order] for base in bases] for bases in kinds]
    return gl.DistributedLinearLayout(*moved, [layout.shape[dim] for dim in order])
