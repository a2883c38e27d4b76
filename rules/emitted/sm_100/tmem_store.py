@gluon.jit
def tmem_store(acc, value):
    """A new value for a sum that may stand in tensor memory."""
    if in_tmem(acc):
        acc.store(value)
        return acc
    else:
        return value
