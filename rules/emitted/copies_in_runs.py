def copies_in_runs(args, pointer, runs):
    """Whether a tile stands in memory in runs that Triton can prove: cp.async copies 4 bytes of a thread or more.

    `runs` maps the stride that has to be 1 (None: it always is) to what has to be a multiple of 16 then.
    """
    base = args.get(pointer)
    if base is not None and base.data_ptr() % 16 != 0:
        return False
    return any(
        (stride is None or args.get(stride) == 1)
        and all(isinstance(args.get(name), int) and args[name] % 16 == 0 for name in names)
        for stride, names in runs.items()
    )
