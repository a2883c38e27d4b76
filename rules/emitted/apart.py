def apart(args, read, written):
    """Whether what a loop reads, of which copies run ahead, is in other memory than what it writes by another name."""
    owned = {}
    for name in written:
        owned.setdefault(storage_of(args.get(name)), []).append(name)
    owned.pop(0, None)
    for name in read:
        for other in owned.get(storage_of(args.get(name)), ()):
            if other != name:
                (first, end), (start, stop) = memory_range(args.get(name)), memory_range(args.get(other))
                if first < stop and start < end:
                    return False
    return True
