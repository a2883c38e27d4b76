def memory_range(argument):
    """The addresses of a tensor's first byte and of that behind its last one, or of the tensor of a descriptor."""
    tensor = getattr(argument, "base", argument)
    first = tensor.data_ptr()
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
    return first, first + (last + 1) * tensor.element_size()
