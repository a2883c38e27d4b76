"""The affine form, extents, fill and advance of accesses, in Triton and in Gluon."""

import textwrap

import pytest

from tritonport.analysis.access import Access, Form, Opaque, accesses_of
from tritonport.analysis.access.forms import plus, show
from tritonport.analysis.access.indexed import by_index
from tritonport.analysis.dims import symbol
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


LOAD = "x = tl.load(x_ptr + first + tl.arange(0, BK))"


@pytest.mark.parametrize(
    ("loops", "offset"),
    [
        (("for _ in range(M):", "for _ in range(K):"), "_ outside of _"),
        (("for k in range(0, M, BK):", "for k in range(K):"), "iteration of k outside of k"),
        (("while M:", "while K:"), "iteration of iteration outside of iteration"),
        (("for k in range(M):", "for j in range(K):"), "k"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_the_index_of_an_outer_loop_is_another_one_than_that_of_an_inner_loop(
    loops: tuple[str, str], offset: str
) -> None:
    access = only(f"first = 0\n{loops[0]}\n    {loops[1]}\n        {LOAD}\n    first += 1")
    assert isinstance(access.address, Form)
    assert show(access.address.offset) == f"{offset} + x_ptr"


def test_an_index_hides_what_else_has_its_name() -> None:
    inside = only(f"first = M * 2\nfor M in range(K):\n    {LOAD}")
    assert isinstance(inside.address, Form) and show(inside.address.offset) == "2 * M outside of M + x_ptr"
    index = only(f"for M in range(K):\n    {LOAD.replace('first', 'M')}")
    assert isinstance(index.address, Opaque) and "the name of an argument" in index.address.reason
    masked = only(f"first = 0\ninside = tl.arange(0, BK) < M\nfor M in range(K):\n    {LOAD[:-1]}, mask=inside)")
    assert masked.extents == ("< M outside of M",)
    behind = only(f"first = M * 2\nfor M in range(K):\n    pass\n{LOAD}")
    assert isinstance(behind.address, Form) and show(behind.address.offset) == "2 * M + x_ptr"


def test_an_inner_loop_counts_what_has_its_name() -> None:
    loops = f"for k in range(M):\n    first = 0\n    for k in range(0, K, BK):\n        {LOAD}\n        first += BK"
    access = only(f"first = 0\n{loops}")
    assert isinstance(access.address, Form)
    assert show(by_index(access.address.offset, access.loops)) == "k + x_ptr"


def test_what_two_loops_leave_are_two_numbers() -> None:
    moved = "for k in range(K):\n    if step:\n        first += 1\n"
    once, twice = read(f"first = 0\n{moved}{LOAD}\n{moved}{LOAD}")
    assert isinstance(once.address, Form) and isinstance(twice.address, Form)
    assert show(once.address.offset) == "first after a loop + x_ptr"
    assert show(twice.address.offset) == "first after a loop + first after a loop #2 + x_ptr"


HELPERS = """@triton.jit
def taken(ptr):
    return tl.atomic_add(ptr, 1)


@triton.jit
def read(ptr):
    return tl.load(ptr)


@triton.jit
def again(ptr):
    return read(ptr) // 2


@triton.jit
def number(i):
    return i // 2


"""


@pytest.mark.parametrize(
    ("called", "reason"),
    [
        ("taken(table)", "reads more than its arguments"),
        ("again(table)", "is a tile that a function makes"),
        ("gl.inline_asm_elementwise('', '=r', [], gl.int32, True, 1)", "reads more than its arguments"),
        ("combine(M)", "reads more than its arguments"),
        ("number(M)", None),
    ],
)
def test_what_a_call_reads_besides_its_arguments_is_no_number_of_theirs(called: str, reason: str | None) -> None:
    head, _, decorator = TRITON.rpartition("@triton.jit\n")
    body = f"    first = {called}\n    second = {called}\n    {LOAD}\n    {LOAD.replace('first', 'second * 2')}\n"
    text = f"{head}{HELPERS}@triton.jit\n{decorator}def kernel(combine: tl.constexpr, {PARAMETERS}):\n{body}"
    module = SourceModule(text, "kernel.py")
    one, other = accesses_of(module, module.kernels[-1])
    if reason is None:
        assert isinstance(one.address, Form) and show(one.address.offset) == "number(M) + x_ptr"
    else:
        assert isinstance(one.address, Opaque) and reason in one.address.reason
        assert not isinstance(other.address, Form) or " read as it is#2" in show(other.address.offset)


@pytest.mark.parametrize(
    ("number", "offset"),
    [
        ("(K / 3).to(tl.int32)", "(K / 3).to(tl.int32) + x_ptr"),
        ("tl.cast(M * 0.5, tl.int32)", "tl.cast(M * 0.5, tl.int32) + x_ptr"),
        ("(M * 260).to(tl.int8)", "(M * 260).to(tl.int8) + x_ptr"),
        ("(M * 260).to(tl.int64)", "260 * M + x_ptr"),
    ],
)
def test_a_cast_keeps_whole_numbers_that_its_type_holds(number: str, offset: str) -> None:
    access = only(f"first = {number}\n{LOAD}")
    assert isinstance(access.address, Form) and show(access.address.offset) == offset


def test_a_minus_in_front_of_a_quotient_is_that_of_all_of_it() -> None:
    half = only("x = tl.load(x_ptr + K // 2 + tl.arange(0, BK))").address
    assert isinstance(half, Form)
    difference = plus(symbol("x_ptr"), half.offset, -1)
    assert show(difference) == "-((K) // (2))"
    assert show(plus(symbol("M"), difference)) == "M - (K) // (2)"


def test_the_pointer_is_no_number_that_it_is_added_to() -> None:
    assert only("x = tl.load(M + x_ptr + tl.arange(0, BK), mask=tl.arange(0, BK) < M)").base == "x_ptr"


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
