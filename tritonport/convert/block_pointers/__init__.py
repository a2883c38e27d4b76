"""Block pointers, written out as pointers and masks before the kernel is analysed.

Gluon never had block pointers and Triton lost them in 3.8, so this works on the source alone: the result is a Triton
kernel that any version reads, and everything after it (layouts, copies of index vectors) treats it like one that was
written that way. Offsets are 64 bits wide, as Triton's own lowering has them (`RewriteTensorPointer`): `offset >= 0`
and `offset < shape` for the dimensions in `boundary_check`, nothing for the others, and no `other` where
`padding_option` is empty.
"""

from tritonport.convert.block_pointers.file import without_block_pointers

__all__ = ["without_block_pointers"]
