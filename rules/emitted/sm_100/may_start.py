@gluon.constexpr_function
def may_start(a, b, acc, precision):
    """Whether Blackwell's instructions do a dot whose operands stay where they are while it is under way."""
    return in_tmem(acc) and (is_shared(a) or in_tmem(a)) and is_shared(b) and not is_split(a.dtype, precision)
