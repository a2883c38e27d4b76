"""Strides that are compile-time arguments or items of a tuple: the contiguous one is 1, and 16 bytes are read."""

from pathlib import Path

import pytest

from tests.convert.kernels import VERSION, innermost, kernel_text, module_of, ported
from tritonport.verify.compile import Resources, compare, compile_kernel

TILE = """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * {0} + j[None, :] * {1})
tl.store(out_ptr + i[:, None] * {0} + j[None, :] * {1}, x)
"""
SIZES = "BM: tl.constexpr, BN: tl.constexpr"
ONE_BY_ONE = kernel_text(
    TILE.format("stride_m", "stride_n"), f"x_ptr, out_ptr, stride_m: tl.constexpr, stride_n: tl.constexpr, {SIZES}"
)
IN_A_TUPLE = kernel_text(TILE.format("STRIDES[0]", "STRIDES[1]"), f"x_ptr, out_ptr, STRIDES: tl.constexpr, {SIZES}")
EITHER = kernel_text(
    """
i, j = tl.arange(0, BM), tl.arange(0, BN)
if ROW_STRIDE:
    offsets = i[:, None] * ROW_STRIDE + j[None, :]
else:
    offsets = i[:, None] * STRIDES[0] + j[None, :] * STRIDES[1]
tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))
""",
    f"x_ptr, out_ptr, ROW_STRIDE: tl.constexpr, STRIDES: tl.constexpr, {SIZES}",
)
TRANSPOSED = kernel_text(
    """
i, j = tl.arange(0, BM), tl.arange(0, BN)
if COLUMNS_FIRST:
    offsets = i[:, None] * 64 + j[None, :]
else:
    offsets = i[:, None] + j[None, :] * 64
tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))
""",
    f"x_ptr, out_ptr, COLUMNS_FIRST: tl.constexpr, {SIZES}",
)
CAST = kernel_text(
    TILE.format("STRIDES[0]", "STRIDES[1]").replace("\n", "\nSTRIDES = wide(STRIDES)\n", 1),
    f"x_ptr, out_ptr, STRIDES, {SIZES}",
).replace(
    "@triton.jit\n",
    """@triton.jit
def wide(strides):
    result = ()
    for axis in tl.static_range(len(strides)):
        result += (tl.cast(strides[axis], tl.int64),)
    return result


@triton.jit
""",
    1,
)


@pytest.mark.parametrize(
    ("text", "strides"),
    [
        (ONE_BY_ONE, {"stride_m": 64, "stride_n": 1}),
        (ONE_BY_ONE, {"stride_m": 3, "stride_n": 1}),
        (IN_A_TUPLE, {"STRIDES": (64, 1)}),
        (EITHER, {"ROW_STRIDE": 0, "STRIDES": (64, 1)}),
        (CAST, {"STRIDES": (64, 1)}),
        (TRANSPOSED, {"COLUMNS_FIRST": False}),
    ],
)
def test_accesses_are_as_wide_as_the_original_has_them(text: str, strides: dict[str, object], tmp_path: Path) -> None:
    sides = []
    for source, stem in ((text, "original"), (ported(text, VERSION), "port")):
        kernel = module_of(source, tmp_path, stem).kernel
        spec = {
            "fn": kernel,
            "signature": {"x_ptr": "*bf16", "out_ptr": "*bf16"}
            | dict.fromkeys(innermost(kernel).arg_names[2:], "constexpr"),
            "constexprs": {**strides, "BM": 64, "BN": 64},
            "attrs": {(i,): [["tt.divisibility", 16]] for i in range(2)},
        }
        result = compile_kernel(spec, "sm_90")
        assert isinstance(result, Resources), result
        sides.append(result)
    assert [bar.text for bar in compare(*sides) if not bar.passed and bar.name != "registers"] == []


def test_a_flag_that_transposes_a_tile_decides_on_its_order() -> None:
    text = ported(TRANSPOSED)
    assert "order: gl.constexpr = [0, 1] if not COLUMNS_FIRST else [1, 0]" in text
    assert "coalesced([BM, BN], element_bits(x_ptr, out_ptr), order, gl.num_warps())" in text


def test_a_vector_with_a_stride_is_contiguous_where_that_is_one() -> None:
    text = ported(
        kernel_text(
            "rows = tl.arange(0, BM)\ntl.store(out_ptr + rows * stride, tl.load(x_ptr + rows * stride))",
            "x_ptr, out_ptr, stride: tl.constexpr, BM: tl.constexpr",
        )
    )
    assert "element_bits(x_ptr, out_ptr) if unit(stride) else 128" in text
