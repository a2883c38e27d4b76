@gluon.constexpr_function
def reshaped(layout, shape):
    """The layout that reshape gives a tensor of this one: no element leaves its thread, and neighbours come first."""
    kinds = []
    for bases in [layout.reg_bases, layout.lane_bases, layout.warp_bases, layout.block_bases]:
        indices = []
        for base in bases:
            index = 0
            for at, size in zip(base, layout.shape):
                index = index * size + at
            indices.append(index)
        if not kinds:
            indices.sort()
        moved = []
        for index in indices:
            place = []
            for size in shape[::-1]:
                place.insert(0, index % size)
                index //= size
            moved.append(place)
        kinds.append(moved)
    return gl.DistributedLinearLayout(*kinds, list(shape))
