@gluon.jit
def operand_kept(x, product):
    """A left operand where a dot may read it while others are computed: in tensor memory, if the product is there."""
    if in_tmem(product) and is_computed(x):
        return operand_tmem(x)
    else:
        return x
