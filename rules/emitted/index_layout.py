@gluon.constexpr_function
def index_layout(layout, axis, rank):
    """The layout of a tile's indices along one axis, so that expand_dims makes them part of the tile."""
    for dim in range(rank)[::-1]:
        if dim != axis:
            layout = gl.SliceLayout(dim, layout)
    return layout
