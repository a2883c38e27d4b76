"""The compile-time functions a port brings along, called as they stand in rules/emitted."""

from types import ModuleType, SimpleNamespace

import pytest
import triton.experimental.gluon.language as gl
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.convert.kernels import module_of
from tritonport.rules_data import rules_dir

HEAD = "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n\n\n"
NAMES = (
    "coalesced",
    "column_major",
    "element_bits",
    "exact_log2",
    "index_layout",
    "integer_like",
    "mma_v2_layout",
    "read_alike",
    "unit",
)


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    sources = [(rules_dir() / "emitted" / f"{name}.py").read_text(encoding="utf-8") for name in NAMES]
    return module_of(HEAD + "\n\n".join(sources), tmp_path_factory.mktemp("emitted"), "emitted")


@pytest.mark.parametrize(
    ("shape", "bits", "order", "warps", "expected"),
    [
        ([1024], 32, [0], 4, ([4], [32], [4])),
        ([1024], 16, [0], 4, ([8], [32], [4])),
        ([64], 32, [0], 4, ([1], [32], [4])),
        ([64, 64], 32, [1, 0], 4, ([1, 4], [2, 16], [4, 1])),
        ([64, 64], 32, [0, 1], 4, ([4, 1], [16, 2], [1, 4])),
        ([16, 32], 32, [1, 0], 4, ([1, 4], [4, 8], [4, 1])),
        ([64, 64], 128, [1, 0], 4, ([1, 1], [1, 32], [2, 2])),
        ([2, 4, 8], 32, [2, 1, 0], 4, ([1, 1, 1], [1, 4, 8], [4, 1, 1])),
        ([1], 32, [0], 8, ([1], [32], [8])),
    ],
)
def test_tiles_of_16_bytes_per_thread(
    emitted: ModuleType, shape: list[int], bits: int, order: list[int], warps: int, expected: tuple[list[int], ...]
) -> None:
    layout = emitted.coalesced(shape, bits, order, warps)
    assert (layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta) == expected
    assert list(layout.order) == order


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_every_layout_has_every_lane_and_warp(emitted: ModuleType, data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 4))
    shape = [2 ** data.draw(st.integers(0, 9 // rank)) for _ in range(rank)]
    order = data.draw(st.permutations(range(rank)))
    bits, warps = data.draw(st.sampled_from([8, 16, 32, 64, 128])), data.draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    layout = emitted.coalesced(shape, bits, order, warps)

    def product(numbers: list[int]) -> int:
        result = 1
        for number in numbers:
            result *= number
        return result

    assert product(layout.threads_per_warp) == 32
    assert product(layout.warps_per_cta) == warps
    width = layout.size_per_thread[order[0]]
    assert width <= max(1, 128 // bits) and width <= shape[order[0]]
    assert [size for dim, size in enumerate(layout.size_per_thread) if dim != order[0]] == [1] * (rank - 1)
    # Nothing is held twice while there are elements left for the threads.
    if product(shape) >= 32 * warps:
        spread = zip(layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta, shape, strict=True)
        assert all(a * b * c <= size for a, b, c, size in spread)


def pointer(kind: tl.dtype) -> SimpleNamespace:
    return SimpleNamespace(dtype=tl.pointer_type(kind))


def test_the_narrowest_element_decides(emitted: ModuleType) -> None:
    assert emitted.element_bits(pointer(tl.float32), None, pointer(tl.bfloat16)) == 16
    assert emitted.element_bits(pointer(tl.float64), SimpleNamespace(dtype=tl.int8)) == 64
    assert emitted.element_bits(tl.pointer_type(tl.int8), pointer(tl.float32)) == 8


def test_without_a_pointer_one_element_is_16_bytes(emitted: ModuleType) -> None:
    # An optional output that is not there: its layout is made all the same, and never used.
    assert emitted.element_bits(None) == 128


@pytest.mark.parametrize(("stride", "expected"), [(1, True), (2, False), (SimpleNamespace(dtype=tl.int32), False)])
def test_a_stride_of_one_is_a_constant(emitted: ModuleType, stride: object, expected: bool) -> None:
    assert emitted.unit(stride) is expected


def test_the_layout_of_an_index_is_the_tile_without_the_other_axes(emitted: ModuleType) -> None:
    layout = emitted.coalesced([4, 8, 16], 32, [2, 1, 0], 4)
    index = emitted.index_layout(layout, 1, 3)
    assert (index.dim, index.parent.dim, index.parent.parent) == (0, 2, layout)
    assert emitted.index_layout(layout, 0, 1) == layout


def test_exponents_of_powers_of_two(emitted: ModuleType) -> None:
    assert [emitted.exact_log2(size) for size in (1, 2, 64, 1024)] == [0, 1, 6, 10]
    for size in (0, 3, 48):
        with pytest.raises(AssertionError, match="not a power of two"):
            emitted.exact_log2(size)


@pytest.mark.parametrize(
    ("kind", "integer"), [(tl.float32, tl.int32), (tl.bfloat16, tl.int16), (tl.uint8, tl.int8), (tl.float64, tl.int64)]
)
def test_integers_of_the_same_width(emitted: ModuleType, kind: tl.dtype, integer: tl.dtype) -> None:
    assert emitted.integer_like(kind) == integer


@pytest.mark.parametrize(
    ("shape", "warps", "chained", "follows", "expected"),
    [
        ([64, 64], 4, False, None, [2, 2]),
        ([16, 64], 4, False, None, [1, 4]),
        ([64, 32], 4, True, None, [4, 1]),
        ([16, 64], 4, True, None, [1, 4]),
        # All of a chain divide the side that its last dot divides.
        ([16, 128], 8, False, [16, 64], [1, 8]),
        ([64, 128], 8, False, [64, 64], [8, 1]),
        ([16, 128], 4, True, [64, 32], [4, 1]),
    ],
)
def test_warps_of_a_chain_of_dots_share_one_side(
    emitted: ModuleType,
    shape: list[int],
    warps: int,
    chained: bool,
    follows: list[int] | None,
    expected: list[int],
) -> None:
    layout = emitted.mma_v2_layout(shape, warps, chained, follows)
    assert (list(layout.version), list(layout.warps_per_cta)) == ([2, 0], expected)


@pytest.mark.parametrize(
    ("m", "n", "warps", "expected"),
    [
        (16, 16, 4, [2, 2]),
        (16, 32, 4, [1, 4]),
        (32, 32, 4, [2, 2]),
        (32, 64, 4, [1, 4]),
        (64, 32, 4, [2, 2]),
        (64, 64, 4, [2, 2]),
        (128, 64, 4, [2, 2]),
        (64, 128, 4, [1, 4]),
        (128, 32, 4, [4, 1]),
        (16, 16, 8, [4, 2]),
        (32, 16, 8, [4, 2]),
        (32, 32, 8, [2, 4]),
        (128, 32, 8, [4, 2]),
        (16, 128, 8, [1, 8]),
        (128, 128, 8, [2, 4]),
        (64, 256, 8, [1, 8]),
        (256, 64, 8, [4, 2]),
        (128, 256, 8, [2, 4]),
    ],
)
def test_warps_of_a_dot_tile_it_as_triton_does(
    emitted: ModuleType, m: int, n: int, warps: int, expected: list[int]
) -> None:
    """Read from the TTGIR of `tl.dot` on sm_80, with Triton 3.6.0 and 3.9.0 alike."""
    assert list(emitted.mma_v2_layout([m, n], warps, False, None).warps_per_cta) == expected


@pytest.mark.parametrize(
    ("shape", "warps", "expected"),
    [
        ([1, 64, 64], 4, [1, 2, 2]),
        ([2, 64, 32], 4, [2, 2, 1]),
        ([2, 32, 64], 8, [2, 1, 4]),
        ([1, 16, 64], 4, [1, 1, 4]),
        ([2, 16, 16], 8, [2, 2, 2]),
        ([1, 128, 16], 8, [1, 8, 1]),
        ([4, 32, 32], 8, [4, 1, 2]),
        ([1, 64, 128], 8, [1, 2, 4]),
        ([8, 16, 16], 4, [4, 1, 1]),
    ],
)
@pytest.mark.parametrize("chained", [False, True])
def test_warps_that_a_batch_does_not_need_divide_its_matrices(
    emitted: ModuleType, shape: list[int], warps: int, expected: list[int], chained: bool
) -> None:
    """Read from the TTGIR of Triton 3.9.0 on sm_90; 3.6.0 lets warps repeat what others do, up to eight times."""
    layout = emitted.mma_v2_layout(shape, warps, chained, None)
    assert (list(layout.warps_per_cta), list(layout.instr_shape)) == (expected, [1, 16, 8])


@pytest.mark.parametrize(
    ("registers", "expected"),
    [
        # Runs of 2 along the columns against 16 along the rows, of 4 against 2, and of one.
        ([[1, 0], [0, 1], [0, 2], [0, 4], [0, 8]], False),
        ([[0, 1], [1, 0], [2, 0]], True),
        ([[1, 0]], True),
        ([[0, 1]], False),
        ([], False),
    ],
)
def test_shared_memory_has_the_order_of_the_longer_runs(
    emitted: ModuleType, registers: list[list[int]], expected: bool
) -> None:
    layout = gl.DistributedLinearLayout(registers, [[0, 0]] * 5, [[0, 0]] * 2, [], [64, 64])
    assert emitted.column_major(layout) == expected


def test_dots_share_a_tile_that_all_of_them_can_read(emitted: ModuleType) -> None:
    first, second = (emitted.mma_v2_layout([64, n], 4, True, None) for n in (32, 64))
    blocked = emitted.coalesced([64, 64], 32, [1, 0], 4)
    assert emitted.read_alike(tl.float16, [0, 1], [first, second])
    assert emitted.read_alike(tl.float32, [1, 1], [first, second])
    assert not emitted.read_alike(tl.float32, [0, 1], [first, second])
    assert not emitted.read_alike(tl.float16, [1, 1], [first, blocked])
