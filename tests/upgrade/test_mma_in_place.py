"""Stage mma, sums that stay under way where they stand: what it writes, that it computes the same, what it refuses."""

from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.kernels import matmul
from tests.upgrade.sum_kernels import SUMS
from tritonport.convert import Conversion, ConvertOptions
from tritonport.upgrade.mma import upgrade_gluon
from tritonport.verify.compile import compile_kernel
from tritonport.verify.emulate import EmulationError, emulated

COPIES = ("tma", "async-copy")


@cache
def staged(text: str, *stages: str, version: str = VERSION) -> str:
    for stage in stages:
        text = conversion(text, ConvertOptions(triton=version, target="sm_90", stage=stage)).text
    return text


def steps(copies: str) -> tuple[str, ...]:
    return (copies, "mma") if copies == "async-copy" else ("multibuffer", "mma")


def operands(n: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(n)
    # Small whole numbers: their sums are exact in float32.
    made = lambda *shape: torch.randint(-2, 3, shape, generator=generator).half()  # noqa: E731
    rows = max(n, 1)
    return {"q": made(rows, 16), "g": made(rows, 16), "k": made(64, 16), "v": made(64, 16), "n": n} | {
        "bias": made(rows).float()
    }


def launched(module: ModuleType, **arguments: Any) -> torch.Tensor:
    with emulated(target="sm_90"):
        result: torch.Tensor = module.launch(**arguments)
    return result


def run(text: str, folder: Path, **arguments: Any) -> torch.Tensor:
    return launched(module_of(text, folder, "kernel"), **arguments)


# -- what it writes


def test_sums_are_started_and_the_last_runs_under_the_next_iteration() -> None:
    text = staged(SUMS, *steps("tma"), version="3.9")
    first = """
        scores = dot_new_started(k_smem, q.permute((1, 0)), scores_layout)
        # What these bring is read behind the dot, and comes while it runs.
        bias = gl.load(bias_ptr + offs_scores, mask=offs_scores < n, other=0.0)
        scores = dot_awaited(scores, 0) * 0.5
        scores = scores + bias[None, :]
"""
    assert first in text
    sums = """
        sum_v = dot_started(scores.to(g.dtype), g, sum_v)
        # This one stays under way.
        sum_v = dot_awaited(sum_v, 1)
        other = dot_new(v_smem, g.permute((1, 0)), other_layout)
        # It has read its tiles, before others are copied over them.
        sum_v = dot_awaited(sum_v, 0)
        sum_k = dot_started((scores * gl.convert_layout(other, scores_layout)).to(q.dtype), q, sum_k)
        # This one runs under the next iteration; those before it are done, and their places in the ring free.
        sum_k = dot_awaited(sum_k, 1)
        next_start = start + NUM_BUFFERS * BLOCK_M
        more = next_start < n
        mbarrier.expect(g_ready.index(slot), g_desc.block_type.nbytes, pred=more)
        tma.async_load(g_desc, [next_start, 0], g_ready.index(slot), g_ring.index(slot), pred=more)
        next_start_q = start + (NUM_BUFFERS - 1) * BLOCK_M
        more_q = next_start_q < n
        mbarrier.expect(q_ready.index(free), q_desc.block_type.nbytes, pred=more_q)
        tma.async_load(q_desc, [next_start_q, 0], q_ready.index(free), q_ring.index(free), pred=more_q)
        free = slot
"""
    assert sums in text
    assert "    sum_v = dot_awaited(sum_v, 0)\n    sum_k = dot_awaited(sum_k, 0)\n" in text


@pytest.mark.parametrize("copies", COPIES)
def test_a_second_run_changes_nothing(copies: str) -> None:
    once = staged(SUMS, *steps(copies))
    assert staged(once, "mma") == once


# -- what it computes


@pytest.mark.parametrize("length", [0, 5, 16, 33, 64, 90])
@pytest.mark.parametrize("copies", COPIES)
def test_every_trip_count_and_depth_gives_the_same_bits(copies: str, length: int, tmp_path: Path) -> None:
    given = operands(length)
    expected = run(staged(SUMS, "literal"), tmp_path, **given)
    module = module_of(staged(SUMS, *steps(copies)), tmp_path, "upgraded")
    for num_stages in (2, 3, 4):
        assert torch.equal(launched(module, num_stages=num_stages, **given), expected)


# -- that a mistake would be found


def forms_of(text: str) -> tuple[str, str]:
    """A file up to the form that these launches take, which copies by TMA where there is one, and the rest."""
    place = max(text.find("_tiles("), 0)
    return text[:place], text[place:]


AFTER = "    sum_v = dot_awaited(sum_v, 0)\n    sum_k = dot_awaited(sum_k, 0)\n"
FAULTS = [
    ("tma", "q_ring.index(free), pred", "q_ring.index(slot), pred", "still|in use|read|copy"),
    ("tma", AFTER, "", "wait|under way"),
    ("tma", "scores = dot_awaited(scores, 0)", "scores = dot_awaited(scores, 1)", "wait|under way"),
    ("tma", "if i < NUM_BUFFERS - 1:", "if i < NUM_BUFFERS:", "phase|pending|expect|still|copy|arriv"),
    ("async-copy", "wait_group(NUM_BUFFERS - 2)", "wait_group(NUM_BUFFERS - 1)", "copy|copied|group|wait"),
    ("async-copy", "q_ring.index(free)", "q_ring.index(slot)", "still|in use|read|copy"),
    ("async-copy", AFTER, "", "wait|under way"),
]


@pytest.mark.parametrize(("copies", "right", "wrong", "words"), FAULTS)
def test_a_planted_fault_is_found(copies: str, right: str, wrong: str, words: str, tmp_path: Path) -> None:
    pointers, tiles = forms_of(staged(SUMS, *steps(copies)))
    assert tiles.count(right) == 1
    given = operands(90)
    with pytest.raises(EmulationError, match=words):
        run(pointers + tiles.replace(right, wrong), tmp_path, **given)


def test_a_tile_is_not_filled_again_while_a_sum_reads_it(tmp_path: Path) -> None:
    # Without a dot in between that is awaited, and with both sums under way, that wait is what keeps the tile.
    pointers, tiles = forms_of(staged(SUMS, *steps("tma")))
    awaited = (
        "        # It has read its tiles, before others are copied over them.\n        sum_v = dot_awaited(sum_v, 0)\n"
    )
    between = "        other = dot_new(v_smem, g.permute((1, 0)), other_layout)\n"
    assert tiles.count(awaited) == tiles.count(between) == 1
    apart = tiles.replace(between, "        other = scores\n").replace("dot_awaited(sum_k, 1)", "dot_awaited(sum_k, 2)")
    given = operands(90)
    run(pointers + apart, tmp_path, **given)
    with pytest.raises(EmulationError, match=r"still|in use|read"):
        run(pointers + apart.replace(awaited, ""), tmp_path, **given)


# -- what it leaves


def mma(text: str) -> Conversion:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="mma")
    return upgrade_gluon(Conversion(text, (), ()), text, path="kernel.py", options=options)


def changed(right: str, wrong: str) -> str:
    """What the stage makes of a change in the form that copies by TMA: the one with pointers stands before it."""
    before, found, after = staged(SUMS, "multibuffer").rpartition(right)
    assert found
    text = mma(before + wrong + after).text
    return text[text.index("def sums_kernel_tiles(") :]


SUM_K = "sum_k = dot((scores * gl.convert_layout(other, scores_layout)).to(q.dtype), q_smem, sum_k)"


def test_a_sum_that_the_loop_reads_is_awaited_at_once() -> None:
    text = changed(SUM_K, f"{SUM_K}\n        seen = sum_v")
    assert "dot_started((scores" in text
    assert "sum_v = dot(scores" in text


def test_a_sum_is_not_left_under_way_beside_a_tile_that_each_iteration_writes() -> None:
    text = changed(SUM_K, SUM_K.replace("q_smem, sum_k", "dot_operand(q.load(scores_layout), 1, scores_layout), sum_k"))
    assert "sum_v = dot_started(" in text
    assert "sum_k = dot((scores" in text


def test_a_load_does_not_pass_a_store() -> None:
    line = "        scores = dot_new(k_smem, q_smem.permute((1, 0)), scores_layout) * 0.5\n"
    text = changed(line, f"{line}        gl.store(bias_ptr + offs_scores, offs_scores * 0.5)\n")
    assert "scores = dot_new(k_smem" in text
    assert text.index("gl.store(bias_ptr") < text.index("bias = gl.load(")


def test_a_load_does_not_pass_what_it_needs() -> None:
    text = changed("mask=offs_scores < n, other=0.0)", "mask=offs_scores < scores.shape[0] * start, other=0.0)")
    assert "scores = dot_new(k_smem" in text


@pytest.mark.parametrize("right", ["q_ready.index(slot), q_desc.block_type.nbytes, pred=more"])
def test_without_a_free_place_the_last_sum_ends_in_its_iteration(right: str) -> None:
    # The ring of q is filled by another rule than the one that is known: its sum is awaited before that.
    text = changed("slot = gl.where(last, 0, slot + 1)", "slot = gl.where(last, 0, slot + 1) % NUM_BUFFERS")
    assert "free" not in text.replace("free their tiles", "")
    assert f"        sum_k = dot_awaited(sum_k, 0)\n        mbarrier.expect({right})" in text


# -- loops that count down


def counting_down() -> str:
    text = matmul().replace("for k in range(tl.cdiv(K, BLOCK_K)):", "for k in range(K, 0, -BLOCK_K):")
    return text.replace("left = K - k * BLOCK_K", "left = k")


@pytest.mark.parametrize("depth", [1, 16, 32, 50, 97, 160])
def test_a_loop_that_counts_down_gives_the_same(depth: int, tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(depth)
    a = torch.randint(-2, 3, (64, depth + -depth % 8), generator=generator).half()[:, :depth]
    b = torch.randint(-2, 3, (depth, 32), generator=generator).half()
    expected = run(staged(counting_down(), "literal"), tmp_path, a=a, b=b)
    text = staged(counting_down(), *steps("tma"))
    assert "next_k = k - (NUM_BUFFERS - 1) * BLOCK_K" in text
    module = module_of(text, tmp_path, "upgraded")
    for num_stages in (2, 3, 4):
        assert torch.equal(launched(module, num_stages=num_stages, a=a, b=b), expected)


@pytest.mark.parametrize("wrong", ["k + NUM_BUFFERS * BLOCK_K", "k - NUM_BUFFERS * BLOCK_M"])
def test_a_tile_in_the_other_direction_is_not_that_of_a_later_iteration(wrong: str) -> None:
    text = staged(counting_down(), "multibuffer")
    assert text.count("k - NUM_BUFFERS * BLOCK_K") == 1
    found = mma(text.replace("k - NUM_BUFFERS * BLOCK_K", wrong))
    assert "dot_awaited" not in found.text
    assert any("not that of k - NUM_BUFFERS" in one.message for one in found.diagnostics)


# -- what it compiles to


@pytest.mark.parametrize("copies", COPIES)
def test_it_compiles_to_dots_that_overlap(copies: str, tmp_path: Path) -> None:
    module = module_of(staged(SUMS, *steps(copies)), tmp_path, "compiled")
    pointers = dict.fromkeys(("q_ptr", "g_ptr", "k_ptr", "v_ptr"), "*fp16")
    pointers |= dict.fromkeys(("bias_ptr", "out_k_ptr", "out_v_ptr"), "*fp32")
    entry = {
        "fn": module.sums_kernel,
        "signature": {**pointers, "n": "i32"},
        "constexprs": {"BLOCK_M": 64, "BLOCK_N": 64, "D": 64},
        "num_stages": 3,
        "num_warps": 4,
    }
    found = compile_kernel(entry, "sm_90")
    assert found.spills == 0
    lines = [line.split() for line in found.ptx.splitlines() if "wgmma.commit" in line or "wgmma.wait" in line]
    order = ["mma" if "commit" in words[0] else f"wait {words[-1].rstrip(';')}" for words in lines]
    # The two dots whose results are read are awaited to the end; no sum is before the next dot has begun.
    loop = [
        "mma",
        "wait 0",
        "mma",
        "wait 1",
        "mma",
        "wait 0",
        *(["wait 0"] if copies == "tma" else []),
        "mma",
        "wait 1",
    ]
    assert order[: len(loop)] == loop
