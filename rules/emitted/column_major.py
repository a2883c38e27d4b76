@gluon.constexpr_function
def column_major(layout):
    """Whether the runs of a tile in registers are longer along the last dimension but one than along the last."""
    if isinstance(layout, gl.DistributedLinearLayout):
        runs = [0, 0]
        for dim in (-2, -1):
            while any(base[dim] == 1 << runs[dim] and sum(base) == base[dim] for base in layout.reg_bases):
                runs[dim] += 1
        return runs[0] > runs[1]
    return isinstance(layout, gl.BlockedLayout) and layout.order[0] == len(layout.order) - 2
