"""The affine form, extents, fill and advance of accesses, in Triton and in Gluon."""

import textwrap

import pytest

from tritonport.analysis.access import Access, Form, Opaque, accesses_of
from tritonport.analysis.access.forms import show
from tritonport.source.module import SourceModule

TRITON = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
GLUON = "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n\n\n@gluon.jit\n"
PARAMETERS = "x_ptr, out_ptr, M, N, K, stride_m, stride_k, step, table, BM: tl.constexpr, BK: tl.constexpr"


def read(body: str) -> list[Access]:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    module = SourceModule(f"{TRITON}def kernel({PARAMETERS}):\n{lines}", "kernel.py")
    return accesses_of(module, module.kernels[0])


def only(body: str) -> Access:
    (found,) = read(body)
    return found


def strides(access: Access) -> list[str | None]:
    assert isinstance(access.address, Form)
    return [None if axis is None else show(axis.stride) for axis in access.address.axes]


TILE = """
rows = tl.program_id(0) * BM + tl.arange(0, BM)
cols = tl.arange(0, BK)
"""


def test_a_tile_has_a_base_an_offset_and_a_stride_per_dimension() -> None:
    access = only(TILE + "x = tl.load(x_ptr + rows[:, None] * stride_m + cols[None, :] * stride_k)")
    assert isinstance(access.address, Form)
    assert access.base == "x_ptr"
    assert show(access.address.offset) == "BM * stride_m * tl.program_id(0) + x_ptr"
    assert strides(access) == ["stride_m", "stride_k"]
    assert access.address.sizes == ("BM", "BK")
    assert (access.target, access.fill, access.extents) == ("x", "none", (None, None))


def test_masks_wraps_and_clamps_are_extents() -> None:
    access = only(
        TILE + "wrapped, inside = rows % M, cols[None, :] < K - 8\n"
        "x = tl.load(x_ptr + wrapped[:, None] * K + cols[None, :], mask=inside & (step > 0), other=1.0)"
    )
    assert access.extents == ("% M", "< K - 8")
    assert access.fill == "1.0"
    clamped = only(TILE + "x = tl.load(x_ptr + tl.minimum(rows, M - 1)[:, None] * K + cols[None, :])")
    assert clamped.extents == ("<= M - 1", None)


def test_a_reversed_comparison_bounds_the_same_way() -> None:
    assert only(TILE + "x = tl.load(x_ptr + cols, mask=K > cols, other=0)").extents == ("< K",)


def test_what_a_carried_pointer_gains_is_the_advance() -> None:
    access = only(
        TILE + "ptrs = x_ptr + rows[:, None] * stride_m + cols[None, :]\n"
        "for k in range(0, K, BK):\n    x = tl.load(ptrs, mask=cols[None, :] < K - k)\n    ptrs += 2 * BK * stride_k"
    )
    assert access.advance is not None
    assert show(access.advance) == "2 * BK * stride_k"
    assert access.fill == "any"


@pytest.mark.parametrize(
    ("loop", "address", "advance"),
    [
        ("range(0, K, BK)", "k + cols", "BK"),
        ("range(step)", "k * BK + cols", "BK"),
        ("range(step, K, 4)", "k * stride_m + cols", "4 * stride_m"),
        ("range(K)", "cols", "0"),
        ("range(K)", "(k // 2) * BK + cols", None),
        ("range(K)", "k * k + cols", None),
    ],
)
def test_the_advance_follows_the_index(loop: str, address: str, advance: str | None) -> None:
    access = only(f"{TILE}for k in {loop}:\n    x = tl.load(x_ptr + {address})")
    found = access.advance
    assert (None if found is None else show(found)) == advance


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("x = tl.load(x_ptr + cols // 2)", "`cols // 2` is no sum of coordinates"),
        ("x = tl.load(x_ptr + tl.load(table + cols))", "`tl.load(table + cols)` is read from memory"),
        ("x = tl.load(x_ptr + cols * cols)", "`cols * cols` multiplies two coordinates"),
        ("x = tl.load(x_ptr + (rows * 2 + rows % M))", "adds two coordinates along one dimension"),
    ],
)
def test_what_is_not_affine_says_why(statement: str, reason: str) -> None:
    access = read(TILE + statement)[-1]
    assert isinstance(access.address, Opaque)
    assert reason in access.address.reason


@pytest.mark.parametrize(
    ("body", "offset"),
    [
        ("if K > 64:\n    first = step", "step + x_ptr"),
        ("first = second\nsecond = step", "step + x_ptr"),
        ("if K > 64:\n    first = step + 1", None),
        ("first = second\nsecond = M", None),
        ("first = second\nsecond, step = step, step + 1", None),
    ],
)
def test_what_a_body_leaves_as_it_is_keeps_its_form(body: str, offset: str | None) -> None:
    loop = textwrap.indent(f"x = tl.load(x_ptr + first + tl.arange(0, BK))\n{body}", "    ")
    behind = "tl.store(out_ptr + first + tl.arange(0, BK), 0)"
    access, store = read(f"first, second = step, step\nfor k in range(K):\n{loop}\n{behind}")
    if offset is None:
        assert isinstance(access.address, Opaque) and "carried through the loop" in access.address.reason
        assert not isinstance(store.address, Form) or "after a loop" in show(store.address.offset)
    else:
        assert isinstance(access.address, Form) and isinstance(store.address, Form)
        assert show(access.address.offset) == offset
        assert show(store.address.offset) == "out_ptr + step"


@pytest.mark.parametrize(
    "more", ["k", "k * M", "k // 2", "last", "tl.cdiv(k, 2)", "tl.cdiv(last, 2)", "steps"], ids=lambda more: more
)
def test_a_number_that_the_loop_changes_is_no_step(more: str) -> None:
    inner = "last = k * 3\nsteps = 0\nfor j in range(k):\n    steps += 1"
    loop = textwrap.indent(f"{inner}\nx = tl.load(x_ptr + first + tl.arange(0, BK))\nfirst += {more}", "    ")
    access = only(f"first = step\nfor k in range(K):\n{loop}")
    assert isinstance(access.address, Opaque) and "carried through the loop" in access.address.reason


def test_branches_keep_coordinates_and_lose_the_offset() -> None:
    same = only(TILE + "base = cols\nif step:\n    base = cols + 4\nx = tl.load(x_ptr + base)")
    assert strides(same) == ["1"]
    other = only(TILE + "base = cols\nif step:\n    base = cols * 2\nx = tl.load(x_ptr + base)")
    assert isinstance(other.address, Opaque)
    assert "differs between the branches" in other.address.reason


def test_an_added_load_is_one_access() -> None:
    assert len(read(TILE + "total = tl.zeros([BK], tl.float32)\ntotal += tl.load(x_ptr + cols)")) == 1


def test_a_number_that_a_helper_returns_is_a_name_of_its_own() -> None:
    body = TILE + "M, other = tl.swizzle2d(1, 2, 3, 4, 5)\nx = tl.load(x_ptr + M + cols, mask=cols < N)"
    access = only(body)
    assert isinstance(access.address, Form)
    # The parameter M is something else.
    assert show(access.address.offset) == "M#2 + x_ptr"


def test_gluon_reads_alike_and_says_its_layout() -> None:
    text = (
        f"{GLUON}def kernel(x_ptr, K, BM: gl.constexpr, BK: gl.constexpr):\n"
        "    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])\n"
        "    rows = gl.arange(0, BM, layout=gl.SliceLayout(1, layout))\n"
        "    cols = gl.arange(0, BK, layout=gl.SliceLayout(0, layout))\n"
        "    smem = gl.allocate_shared_memory(gl.float16, [BM, BK], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))\n"
        "    x = gl.load(x_ptr + rows[:, None] * K + cols[None, :], mask=cols[None, :] < K)\n"
        "    y = smem.load(layout)\n"
    )
    module = SourceModule(text, "kernel.py")
    (access,) = accesses_of(module, module.kernels[0])
    assert isinstance(access.address, Form)
    assert access.address.layout == "layout"
    assert (strides(access), access.extents) == (["K", "1"], (None, "< K"))
