from triton.experimental.gluon.language.nvidia.blackwell import allocate_tensor_memory


@gluon.jit
def product_tmem(a, b, layout: gl.constexpr, acc, operand_type: gl.constexpr):
    """Tensor memory for products of the shape of a @ b, from which the left operand of a dot that adds to acc is made;
    zeros in registers where there is no room for both."""
    shape: gl.constexpr = product_shape(a, b)
    dtype: gl.constexpr = accumulator_type(a.dtype)
    if chain_fits(acc, shape, operand_type, layout, a.dtype):
        return allocate_tensor_memory(dtype, shape, tmem_layout(shape, dtype))
    else:
        return gl.full(shape, 0, dtype, layout=layout)
