def launch_heuristics(values):
    """`triton.heuristics` for several values; each function sees those before it, as there."""
    return lambda fn: LaunchHeuristics(fn, fn.arg_names, values)
