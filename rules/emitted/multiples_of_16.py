def multiples_of_16(args, *names):
    """Whether these arguments of a launch are multiples of 16 (or a unit stride), as Triton compiles a variant for."""
    values = [args.get(name) for name in names]
    return all(value in (None, 1) or (isinstance(value, int) and value % 16 == 0) for value in values)
