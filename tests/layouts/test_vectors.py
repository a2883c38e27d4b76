"""Rows and columns of tiles that a loop reads and writes as vectors: as wide as Triton's compiler has them."""

from pathlib import Path

import pytest
import torch

from tests.convert.kernels import VERSION, convert, module_of
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import emulated

TEXT = Path(__file__).parents[1].joinpath("convert", "vector_kernels.py").read_text(encoding="utf-8")
ATTRIBUTES = {(index,): [["tt.divisibility", 16]] for index in range(3)}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    folder = tmp_path_factory.mktemp("vectors")
    texts = {"vectors": TEXT, "vectors_port": convert(TEXT, VERSION).text}
    return [module_of(text, folder, name).recurrent for name, text in texts.items()]


@pytest.mark.parametrize("num_warps", [1, 2, 4])
def test_vectors_are_read_and_written_as_wide_as_by_triton(sides: list[object], num_warps: int) -> None:
    original, port = (_compiled(side, num_warps) for side in sides)
    assert port.load_widths == original.load_widths
    assert port.store_widths == original.store_widths
    # With more threads than elements a vector is read in the slice of its tile; what is stored is converted.
    assert port.conversions_in_loops == original.conversions_in_loops == {1: 4, 2: 3, 4: 1}[num_warps]
    assert 10 * port.registers <= 11 * original.registers and port.spills == 0


def _compiled(side: object, num_warps: int) -> Resources:
    signature = dict(k_ptr="*bf16", v_ptr="*bf16", out_ptr="*bf16", steps="i32")
    spec = dict(fn=side, signature=signature, attrs=ATTRIBUTES, constexprs=dict(K=64, V=64), num_warps=num_warps)
    return compile_kernel(spec, "sm_90")


@pytest.mark.parametrize("num_warps", [1, 4])
def test_results_are_those_of_the_original(sides: list[object], num_warps: int) -> None:
    g = torch.Generator().manual_seed(0)
    k, v = (torch.randint(-2, 3, (3, 64), generator=g).to(torch.bfloat16) / 8 for _ in range(2))
    results = []
    for side in sides:
        out = torch.zeros(3, 64, dtype=torch.bfloat16)
        with emulated():
            side[(1,)](k, v, out, 3, K=64, V=64, num_warps=num_warps)  # type: ignore[index]
        results.append(out)
    assert torch.equal(*results) and results[0].count_nonzero() > 100


SCALE = """
    if HEADWISE:
        scale_ptrs = scale_ptr
    else:
        scale_ptrs = scale_ptr + offs_v
"""
SCALED = TEXT.replace("K: tl.constexpr, V:", "scale_ptr, HEADWISE: tl.constexpr, K: tl.constexpr, V:")
SCALED = SCALED.replace("    state = tl.zeros", f"{SCALE[1:]}    state = tl.zeros")
SCALED = SCALED.replace(
    "        state += v", "        v *= tl.load(scale_ptrs)\n        scale_ptrs += V\n        state += v"
)


@pytest.mark.parametrize("headwise", [True, False])
@pytest.mark.parametrize("num_warps", [1, 4])
def test_what_a_flag_makes_a_number_is_not_converted(headwise: bool, num_warps: int, tmp_path: Path) -> None:
    port = module_of(convert(SCALED, VERSION).text, tmp_path, "scaled_port").recurrent
    signature = dict(k_ptr="*bf16", v_ptr="*bf16", out_ptr="*bf16", steps="i32", scale_ptr="*fp32")
    constants = dict(HEADWISE=headwise, K=64, V=64)
    spec = dict(fn=port, signature=signature, attrs=ATTRIBUTES, constexprs=constants, num_warps=num_warps)
    assert compile_kernel(spec, "sm_90").registers > 0


MASKED = SCALED.replace(
    "tl.load(scale_ptrs)", "(tl.load(scale_ptrs) if HEADWISE else tl.load(scale_ptrs, mask=offs_v < V))"
)


@pytest.mark.parametrize("num_warps", [1, 4])
def test_a_mask_says_that_it_is_no_number(num_warps: int, tmp_path: Path) -> None:
    """A load through what a flag makes a number or a vector, with a mask that is a vector: it is read as one."""
    signature = dict(k_ptr="*bf16", v_ptr="*bf16", out_ptr="*bf16", steps="i32", scale_ptr="*bf16")
    spec = dict(signature=signature, attrs=ATTRIBUTES | {(4,): [["tt.divisibility", 16]]}, num_warps=num_warps)
    texts = {"masked": MASKED, "masked_port": convert(MASKED, VERSION).text}
    sides = [module_of(text, tmp_path, name).recurrent for name, text in texts.items()]
    for headwise in (False, True):
        constants = dict(HEADWISE=headwise, K=64, V=64)
        original, port = (compile_kernel(dict(fn=side, constexprs=constants, **spec), "sm_90") for side in sides)
        assert port.load_widths == original.load_widths


ADDED = """
import triton
import triton.language as tl


@triton.jit
def add_rows(x_ptr, index_ptr, sum_ptr, count_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    where = tl.load(index_ptr + rows)
    total = tl.sum(tl.load(x_ptr + where[:, None] * N + cols[None, :]), axis=1)
    tl.atomic_add(sum_ptr + rows, total)
    tl.atomic_add(count_ptr + where, 1)
"""


def test_a_statistic_is_converted_once_before_it_is_added_to_memory() -> None:
    """In the slice of the tile each thread would have the addresses of many rows; an index that is there already is
    not read again."""
    text = convert(ADDED, VERSION).text
    assert "gl.atomic_add(sum_ptr + rows_sum, gl.convert_layout(total, sum_layout))" in text
    assert text.count("gl.load(index_ptr") == 1


BONUS = TEXT.replace("k_ptr, v_ptr, out_ptr,", "k_ptr, v_ptr, q_ptr, u_ptr, out_ptr,")
BONUS = BONUS.replace("    for step", "    u = tl.load(u_ptr + offs_k)\n    q_ptrs = q_ptr + offs_k\n    for step")
BONUS = BONUS.replace("        k_ptrs += K", "        q = tl.load(q_ptrs)\n        q_ptrs += K\n        k_ptrs += K")
BONUS = BONUS.replace("        state += v", "        state += tl.sum(q * k * u) * v")


def test_what_is_summed_up_to_a_number_is_reckoned_where_it_is_read() -> None:
    text = convert(BONUS, VERSION).text
    assert "q = gl.load(q_ptrs)\n" in text and "u = gl.load(u_ptr + offs_k)\n" in text
    assert "gl.sum(q * k * u)" in text
    # What a tile takes is converted.
    assert "gl.sum(state * gl.convert_layout(k, gl.SliceLayout(0, " in text
