"""Stage async-copy on the form with pointers that the stage tma leaves for launches whose tiles TMA cannot copy."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.kernels import matmul
from tests.upgrade.test_tma import run
from tritonport.convert import ConvertOptions
from tritonport.upgrade import upgrade_text
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import EmulationError

RAGGED = """
import torch
import triton
import triton.language as tl


@triton.heuristics({"RAGGED": lambda args: args["starts"] is not None})
@triton.jit
def rows_kernel(
    a_ptr, b_ptr, c_ptr, starts, M, heads, N: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, RAGGED: tl.constexpr, SCALED: tl.constexpr = False,
):
    head = tl.program_id(1)
    if RAGGED:
        sequence = tl.program_id(2)
        first, end = tl.load(starts + sequence).to(tl.int32), tl.load(starts + sequence + 1).to(tl.int32)
        M = end - first
    else:
        first, end = 0, M
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, N)
    a_ptr += (first * heads + head) * K
    c_ptr += (first * heads + head) * N
    acc = tl.zeros((BLOCK_M, N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        offs = k * BLOCK_K + tl.arange(0, BLOCK_K)
        inside = (rows[:, None] < M) & (offs[None, :] < K)
        # [BLOCK_M, BLOCK_K]
        a = tl.load(a_ptr + rows[:, None] * (heads * K) + offs[None, :], mask=inside, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + offs[:, None] * N + cols[None, :], mask=offs[:, None] < K, other=0.0)
        acc = tl.dot((a * 2).to(b.dtype), b, acc)
    tl.store(c_ptr + rows[:, None] * (heads * N) + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, starts=None, num_stages=3):
    (M, heads, K), N = a.shape, b.shape[1]
    c = torch.full((M, heads, N), float("nan"))
    sequences = len(starts) - 1 if starts is not None else 1
    rows_kernel[(triton.cdiv(M, 64), heads, sequences)](
        a, b, c, starts, M, heads, N=N, K=K, BLOCK_M=64, BLOCK_K=32, num_stages=num_stages
    )
    return c
"""


def staged(text: str, *stages: str) -> str:
    for stage in stages:
        text = upgrade_text(text, path="kernel.py", options=ConvertOptions(triton=VERSION, stage=stage)).text
    return text


def pointers_of(text: str, kernel: str) -> str:
    return text[text.index(f"def {kernel}_pointers(") : text.index(f"def {kernel}_tiles(")]


@pytest.mark.parametrize("num_stages", [1, 2, 3, 4])
def test_launches_of_both_kinds_compute_the_same(num_stages: int, tmp_path: Path) -> None:
    text = conversion(RAGGED, ConvertOptions(triton=VERSION, stage="all")).text
    assert "async_copy.wait_group(" in pointers_of(text, "rows_kernel")
    generator = torch.Generator().manual_seed(num_stages)
    a = torch.randint(-3, 4, (150, 2, 112), generator=generator).half()
    b = torch.randint(-3, 4, (112, 32), generator=generator).half()
    expected = 2 * a.float() @ b.float()
    got, made = run(text, tmp_path, a=a, b=b, num_stages=num_stages)
    assert torch.equal(got, expected) and made == [True] * 3
    for starts in ([0, 150], [0, 3, 3, 70, 150]):
        got, made = run(text, tmp_path, a=a, b=b, num_stages=num_stages, starts=torch.tensor(starts))
        assert torch.equal(got, expected) and not any(made)


def test_a_place_of_the_ring_that_is_filled_too_early_is_found(tmp_path: Path) -> None:
    text = conversion(RAGGED, ConvertOptions(triton=VERSION, stage="all")).text
    pointers = pointers_of(text, "rows_kernel")
    wrong = pointers.replace("async_copy.wait_group(POINTER_BUFFERS - ", "async_copy.wait_group(1 + POINTER_BUFFERS - ")
    assert wrong != pointers
    given = {"a": torch.ones(64, 1, 320).half(), "b": torch.ones(320, 32).half(), "starts": torch.tensor([0, 64])}
    with pytest.raises(EmulationError, match="asynchronous copy"):
        run(text.replace(pointers, wrong), tmp_path, **given)


def test_whichever_way_a_file_comes_to_its_last_stage_it_has_the_same_text() -> None:
    assert staged(matmul(), "mma") == staged(matmul(), "tma", "mma") == staged(matmul(), "tma", "multibuffer", "mma")
    assert staged(staged(matmul(), "mma"), "mma") == staged(matmul(), "mma")


def test_a_kernel_that_is_asked_for_has_its_form_with_pointers_changed_too() -> None:
    options = ConvertOptions(triton=VERSION, stage="mma", kernels=frozenset({"matmul_kernel"}))
    found = upgrade_text(matmul(), path="kernel.py", options=options).text
    assert found == staged(matmul(), "mma")


def test_the_rings_of_the_pointers_are_as_deep_as_their_dots_need() -> None:
    literal, mma = staged(matmul(), "tma", "async-copy"), staged(matmul(), "mma")
    assert '"POINTER_BUFFERS": lambda args: max(args.get("num_stages", 3) - 1, 1),' in literal
    assert '"POINTER_BUFFERS": lambda args: max(args.get("num_stages", 3), 2),' in mma
    assert "dot_added_started(" in pointers_of(mma, "matmul_kernel")
    # The entry passes what it is given, in the order of the form's parameters.
    call = re.search(r"        matmul_kernel_pointers\((.*?)\)", mma, re.DOTALL)
    form = re.search(r"def matmul_kernel_pointers\((.*?)\):", mma, re.DOTALL)
    assert call is not None and form is not None
    names = [one.split(":")[0].strip() for one in form[1].replace("\n", " ").split(",") if one.strip()]
    assert [one.strip() for one in call[1].split(",") if one.strip()] == names
    assert names[-3:] == ["POINTER_BUFFERS", "A_ASYNC", "B_ASYNC"]


def test_a_launch_without_descriptors_copies_asynchronously(tmp_path: Path) -> None:
    """Rows of `a` and `b` stand in runs; those of the result do not end on 16 bytes, so that TMA may not write them."""
    module: Any = module_of(staged(matmul(), "mma"), tmp_path, "compiled")
    numbers = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32")
    pointers = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32"}
    values = {"stride_ak": 1, "stride_bn": 1, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    filled = {"a_desc": None, "b_desc": None, "c_desc": None, "NUM_BUFFERS": 3}
    chosen = {**values, **filled, "POINTER_BUFFERS": 3, "A_ASYNC": True, "B_ASYNC": True}
    entry = {
        "fn": module.matmul_kernel,
        "signature": {**pointers, **numbers, **dict.fromkeys(chosen, "constexpr")},
        "constexprs": chosen,
        "num_warps": 4,
        "attrs": {(place,): [["tt.divisibility", 16]] for place in (0, 1, 2, 4, 5, 6, 8)},
    }
    found = compile_kernel(entry, "sm_90")
    assert isinstance(found, Resources), found
    assert len(re.findall(r"cp\.async\.c[ag]\.shared\.global", found.ptx)) >= 2 * 3
    assert re.search(r"wgmma\.wait_group\.sync\.aligned\s+1\b", found.ptx) is not None
    assert found.spills == 0


def test_what_decorates_one_kernel_stands_before_it_where_another_brought_it_first(tmp_path: Path) -> None:
    gathered = matmul().replace("matmul_kernel", "gathered_kernel").replace("def launch(", "def launch_gathered(")
    gathered = gathered.replace("% M\n", "// 2 % M\n").replace("% N\n", "// 2 % N\n")
    # Every row twice is no box: stage tma changes the second kernel, async-copy then the first one.
    text = conversion(gathered + matmul(), ConvertOptions(triton=VERSION, stage="all")).text
    assert text.count("def launch_heuristics(") == 1
    assert "B_ASYNC" in text[: text.index("def gathered_kernel(")]
    a, b = torch.ones(70, 64).half(), torch.ones(64, 32).half()
    got, made = run(text, tmp_path, a=a, b=b)
    assert torch.equal(got, a.float() @ b.float()) and made and all(made)
