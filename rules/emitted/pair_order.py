@gluon.constexpr_function
def pair_order(rank, dim):
    """The order that puts the last dimension of a join before another one."""
    return [*range(dim), rank, *range(dim, rank)]
