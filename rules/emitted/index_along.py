@gluon.jit
def index_along(x, axis: gl.constexpr):
    """The position of every element of a tile along one axis, as int32."""
    rank: gl.constexpr = len(x.shape)
    layout: gl.constexpr = x.type.layout
    index = gl.arange(0, x.shape[axis], layout=index_layout(layout, axis, rank))
    for dim in gl.static_range(rank):
        if dim != axis:
            index = gl.expand_dims(index, dim)
    return gl.full(x.shape, 0, gl.int32, layout=layout) + index
