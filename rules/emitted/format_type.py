@gluon.constexpr_function
def format_type(form):
    """The element type of a microscaling format; pairs of e2m1 lie in bytes."""
    types = {"e2m1": gl.uint8, "e4m3": gl.float8e4nv, "e5m2": gl.float8e5, "fp16": gl.float16, "bf16": gl.bfloat16}
    return types[form]
