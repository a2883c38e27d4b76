def storage_of(argument):
    """The address of the storage behind a tensor or a descriptor of a launch; 0 for what has none."""
    if hasattr(argument, "untyped_storage"):
        return argument.untyped_storage().data_ptr()
    return storage_of(argument.base) if hasattr(argument, "base") else 0
