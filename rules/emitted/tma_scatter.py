from triton.experimental.gluon.language.nvidia.blackwell import fence_async_shared
from triton.experimental.gluon.language.nvidia.blackwell import tma as blackwell_tma


@gluon.jit
def tma_scatter(desc, rows, col, value):
    """Writes the rows of a tile to those of a descriptor's tensor that `rows` names."""
    four_rows = gl.convert_layout(rows, gather_rows_layout(gl.num_warps()))
    tile = gl.allocate_shared_memory(desc.dtype, [rows.shape[0], desc.block_shape[1]], desc.layout, value)
    # The copy reads shared memory through the async proxy: order the stores before it.
    fence_async_shared()
    blackwell_tma.async_scatter(desc, four_rows, col, tile)
    # As Triton does: what is stored is there for whoever reads it next.
    blackwell_tma.store_wait(0, read_only=False)
