import triton

# The bits of a scale of 2**-127 in bfloat16: Triton before 3.9 takes such a scale for zero.
LEAST_SCALE = gl.constexpr(0x40 if tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9) else 0)
