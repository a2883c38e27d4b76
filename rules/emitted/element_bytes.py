def element_bytes(tensor):
    """The size of an element; `warmup` passes what stands for a tensor and knows its type alone."""
    return tensor.element_size() if hasattr(tensor, "element_size") else tensor.dtype.itemsize
