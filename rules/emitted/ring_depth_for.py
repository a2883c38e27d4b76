def ring_depth_for(
    args, name, descriptors, once=(), num_stages=None, shared_memory=232448, chained=False, iterations=None
):
    """Tiles in each ring: what the launch or its configuration says under `name`, else the number of stages, two at
    least, but no more than there are `iterations`, or fit shared memory beside the tiles that are copied `once`, or
    stored.

    `chained`: dots that overlap free their tiles early, so one place less holds as many iterations' copies.
    """
    if args.get(name) is not None:
        return args[name]
    stages = num_stages or args.get("num_stages", 3)
    depth = max(stages - 1, 1) if chained else max(stages, 2)
    if iterations is not None:
        depth = max(min(depth, iterations), 1)
    each = 0
    for one in descriptors:
        each += tile_bytes(args.get(one))
    for one in once:
        shared_memory -= tile_bytes(args.get(one))
    return max(min(depth, shared_memory // each), 1) if each else depth
