"""tritonport ports Triton kernels to Gluon at the source level and proves each step."""

__version__ = "0.1.0"
