@gluon.constexpr_function
def ring_depth(num_stages):
    """Tiles of a ring that keeps as many iterations under way as Triton's pipeliner does at this number of stages."""
    return max((num_stages or 1) - 1, 1)
