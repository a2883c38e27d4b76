@gluon.constexpr_function
def stays_shared(dtype, along_k, precision):
    """Whether tensor cores can read an operand where a copy put it: elements that are not 16 bits wide lie along K."""
    if dtype == gl.float64 or (dtype == gl.float32 and precision != "tf32"):
        return False
    return dtype.primitive_bitwidth == 16 or along_k
