"""Block pointers, written out as pointers and masks before the kernel is analysed.

Gluon never had block pointers and Triton lost them in 3.8, so this works on the source alone: the result is a Triton
kernel that any version reads, and everything after it (layouts, copies of index vectors) treats it like one that was
written that way. Offsets are 64 bits wide, as Triton's own lowering has them (`RewriteTensorPointer`): `offset >= 0`
and `offset < shape` for the dimensions in `boundary_check`, nothing for the others, and no `other` where
`padding_option` is empty.
"""

from __future__ import annotations

from tritonport.source.module import SourceModule

_COPY_ENGINE = 90


def without_block_pointers(module: SourceModule, target: str = "sm_90") -> SourceModule:
    """The file with the block pointers of its Triton kernels written out; the module itself where it has none.

    For a target without a copy engine tensor descriptors that a kernel makes are written out too, as Triton's own
    lowering does (`RewriteTensorDescriptorToPointer`).

    A function in which a block pointer cannot be followed stays as it is, and `refused` of the result says why.
    """
    architecture = int("".join(filter(str.isdigit, target)) or 0)
    descriptors = "make_tensor_descriptor" in module.text and architecture < _COPY_ENGINE
    if "make_block_ptr" not in module.text and not descriptors:
        return module
    # Most files have none: what writes them is not loaded for those.
    from tritonport.convert.block_pointers.file import written_out

    return written_out(module, descriptors)


__all__ = ["without_block_pointers"]
