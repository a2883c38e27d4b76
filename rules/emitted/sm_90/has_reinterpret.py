@gluon.constexpr_function
def has_reinterpret(memory):
    """Whether Triton has this method under a public name: since 3.9."""
    return hasattr(memory, "reinterpret")
