"""Stage mma, waits and copies of an iteration in one place each: what is moved, what is not, what it compiles to."""

import re
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

from tests.convert.kernels import module_of
from tests.upgrade.sum_kernels import SUMS
from tests.upgrade.test_mma_in_place import changed, staged, steps
from tritonport.verify.compile import compile_kernel

WAITS = """
        mbarrier.wait(q_ready.index(slot), phase)
        mbarrier.wait(g_ready.index(slot), phase)
"""
WAIT_G = "        mbarrier.wait(g_ready.index(slot), phase)\n"
TELLS_G = "        mbarrier.expect(g_ready.index(slot), g_desc.block_type.nbytes, pred=more)\n"
TELLS_Q = "        mbarrier.expect(q_ready.index("


def between(text: str, first: str, last: str) -> str:
    return text.split(first)[1].split(last)[0]


def test_an_iteration_waits_for_its_tiles_together_and_fills_their_places_together() -> None:
    text = staged(SUMS, *steps("tma"))
    body = text[text.index("def sums_kernel_tiles(") :].split("    for start in range(0, n, BLOCK_M):\n")[1]
    assert WAITS in f"\n{body}"
    assert "dot" not in between(body, TELLS_G, TELLS_Q)


def test_a_wait_does_not_pass_what_changes_its_phase() -> None:
    text = changed(WAIT_G, f"        phase = phase ^ (start & 0)\n{WAIT_G}")
    assert WAITS not in text
    assert f"phase = phase ^ (start & 0)\n{WAIT_G}" in text


def test_a_wait_does_not_pass_what_tells_its_barrier() -> None:
    told = "        mbarrier.expect(g_ready.index(slot), 0, pred=False)\n"
    text = changed(WAIT_G, told + WAIT_G)
    assert WAITS not in text
    assert told + WAIT_G in text


@pytest.mark.parametrize("line", ["more = more & (start >= 0)", "next_start = next_start + 0"])
def test_a_refill_does_not_pass_what_changes_its_numbers(line: str) -> None:
    text = changed("        sum_k = dot(", f"        {line}\n        sum_k = dot(")
    assert "sum_k = dot" in between(text, TELLS_G, TELLS_Q) or line not in text.split(TELLS_G)[0]


def test_a_refill_does_not_pass_a_wait_for_it() -> None:
    wait = "        mbarrier.wait(g_ready.index(slot), phase ^ 1)\n"
    text = changed("        sum_k = dot(", f"{wait}        sum_k = dot(")
    assert text.index(TELLS_G) < text.index(wait)


def test_nothing_is_told_or_copied_between_the_dots_of_an_iteration(tmp_path: Path) -> None:
    module = module_of(staged(SUMS, *steps("tma")), tmp_path, "gathered")
    pointers = dict.fromkeys(("q_ptr", "g_ptr", "k_ptr", "v_ptr"), "*fp16")
    pointers |= dict.fromkeys(("bias_ptr", "out_k_ptr", "out_v_ptr"), "*fp32")
    entry = {
        "fn": module.sums_kernel,
        "signature": {**pointers, "n": "i32"},
        "constexprs": {"BLOCK_M": 64, "BLOCK_N": 128, "D": 64},
        "num_stages": 3,
        "num_warps": 8,
    }
    events = re.findall(
        r"wgmma\.commit|mbarrier\.arrive|mbarrier\.try|bulk\.tensor", compile_kernel(entry, "sm_90").ptx
    )
    start = len(events) - events[::-1].index("mbarrier.try")
    assert events[start - 2 : start] == ["mbarrier.try"] * 2
    assert events[start : start + 5] == ["wgmma.commit"] * 4 + ["mbarrier.arrive"]
