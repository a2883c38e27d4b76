"""Stands for the choice of a library of mathematical functions."""


def use_tl_extra(function):
    """The function itself."""
    return function
