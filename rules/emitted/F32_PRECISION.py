import os

# What a float32 dot means where the kernel does not say: tf32, unless TRITON_F32_DEFAULT says otherwise.
F32_PRECISION = gl.constexpr(os.environ.get("TRITON_F32_DEFAULT", "tf32"))
