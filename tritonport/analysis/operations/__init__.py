"""What the operations of `triton.language` do to shapes, dtypes and layouts, one file per family.

An operation is a function that returns the value of a call and says, through the operands' paths, how their layouts
relate to its own. It chooses nothing. The files register theirs by being imported.
"""

from tritonport.analysis.operations import (
    block_pointers,
    broadcasts,
    creation,
    descriptors,
    dots,
    elementwise,
    exchanges,
    memory,
    rearrangements,
    reductions,
    scalars,
    scaled_dots,
)

__all__ = [
    "block_pointers",
    "broadcasts",
    "creation",
    "descriptors",
    "dots",
    "elementwise",
    "exchanges",
    "memory",
    "rearrangements",
    "reductions",
    "scalars",
    "scaled_dots",
]
