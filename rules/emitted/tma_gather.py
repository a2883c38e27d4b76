from triton.experimental.gluon.language.nvidia.blackwell import mbarrier
from triton.experimental.gluon.language.nvidia.blackwell import tma as blackwell_tma


@gluon.jit
def tma_gather(desc, rows, col, layout: gl.constexpr):
    """Rows of a descriptor's tensor, in the order of `rows`, through shared memory into registers."""
    four_rows = gl.convert_layout(rows, gather_rows_layout(gl.num_warps()))
    tile = gl.allocate_shared_memory(desc.dtype, [rows.shape[0], desc.block_shape[1]], desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    mbarrier.expect(ready, desc.block_type.nbytes * rows.shape[0])
    blackwell_tma.async_gather(desc, four_rows, col, ready, tile)
    mbarrier.wait(ready, 0)
    mbarrier.invalidate(ready)
    return tile.load(layout)
