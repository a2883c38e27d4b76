"""Gluon kernels whose loops copy one tile at a time, as people and the stage `tma` write them, with their launches.

`data/rings/NAME.in.py` is such a file, for Triton 3.8 and newer: its `launch` makes operands for a number of iterations
and passes its options (`NUM_BUFFERS`) on. `data/rings/NAME.py` is what the stage `multibuffer` makes of it.
"""

from functools import cache
from pathlib import Path
from typing import Any

from tritonport.rules_data import version_key

DATA = Path(__file__).parent / "data" / "rings"
KERNELS = sorted(path.name.removesuffix(".in.py") for path in DATA.glob("*.in.py"))


@cache
def text_of(name: str, version: str) -> str:
    """One of the files, with the names of a Triton version."""
    text = (DATA / f"{name}.in.py").read_text(encoding="utf-8")
    old = version_key(version) < version_key("3.8")
    return text.replace("tma.async_load(", "tma.async_copy_global_to_shared(") if old else text


_TILE = "tensordesc<fp16[16,16]>"
_TILES = {"x_desc": _TILE, "y_desc": _TILE, "table_ptr": "*i32"}
_OPERANDS = {"a_desc": "tensordesc<fp16[64,32]>", "b_desc": "tensordesc<fp16[32,32]>"}
COMPILED: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "matmul": ("matmul_kernel", _OPERANDS, dict(BLOCK_M=64, BLOCK_N=32, BLOCK_K=32)),
    "attention": (
        "attention_kernel",
        {"q_desc": "tensordesc<fp16[64,16]>", "k_desc": _TILE, "v_desc": _TILE},
        dict(BLOCK_N=16, D=16),
    ),
    "batched": ("sum_kernel", {"x_desc": "tensordesc<fp16[1,1,16,16]>"}, dict(BLOCK=16, D=16)),
    "paged": ("paged_kernel", {"x_desc": _TILE, "table_ptr": "*i32"}, dict(BLOCK=16)),
    "two_loops": ("twice_kernel", {"x_desc": _TILE, "y_desc": _TILE}, dict(BLOCK=16)),
    "persistent": (
        "persistent_kernel",
        _OPERANDS,
        dict(BLOCK_K=32),
    ),
    "hand_written": (
        "gemm",
        {"x": "tensordesc<fp16[64,32]>", "w": "tensordesc<fp16[32,32]>", "out": "*fp32"},
        dict(BM=64, BK=32),
    ),
    "mixed": ("kernel", _TILES, {}),
    "nested": ("kernel", _TILES, {}),
    "branches": ("kernel", _TILES, dict(FIRST=True)),
    "helpers": ("kernel", _TILES, {}),
    "writing": ("scan_kernel", {"x_desc": _TILE, "x_ptr": "*fp16"}, dict(BLOCK=16)),
}
"""Per file its kernel, the types of arguments that are no int32 (`out_ptr` is float32), and its constants."""
