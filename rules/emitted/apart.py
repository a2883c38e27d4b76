def apart(args, read, written):
    """Whether what a loop reads, of which copies run ahead, is in other memory than what it writes."""
    owned = {storage_of(args.get(name)) for name in written}
    if not any(storage_of(args.get(name)) in owned for name in read):
        return True
    taken = [memory_range(args.get(name)) for name in written if storage_of(args.get(name))]
    given = [memory_range(args.get(name)) for name in read if storage_of(args.get(name))]
    return all(end <= start or stop <= first for first, end in given for start, stop in taken)
