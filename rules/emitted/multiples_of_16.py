def multiples_of_16(args, *names):
    """Whether these arguments of a launch are multiples of 16 (or a unit stride), as Triton compiles a variant for."""
    for name in names:
        value = args.get(name)
        if value not in (None, 1) and not (isinstance(value, int) and value % 16 == 0):
            return False
    return True
