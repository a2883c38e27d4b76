"""Stage mma: the functions that it makes of what stands between two dots."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.convert.kernels import VERSION, module_of
from tests.upgrade.mma_kernels import attention
from tests.upgrade.test_mma import bits, launched, operands, run, upgraded

TWO_LOOPS = '''
import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n, BLOCK: tl.constexpr, D: tl.constexpr):
    """Blocks before the diagonal without a mask, and the one on it with one."""
    start = tl.program_id(0) * BLOCK
    rows = start + tl.arange(0, BLOCK)
    steps, dims = tl.arange(0, BLOCK), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + dims[None, :], mask=rows[:, None] < n, other=0.0)
    m = tl.full([BLOCK], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    acc = tl.zeros([BLOCK, D], dtype=tl.float32)
    for first in range(0, start, BLOCK):
        k = tl.load(k_ptr + (first + steps)[None, :] * D + dims[:, None], mask=(first + steps)[None, :] < n, other=0.0)
        v = tl.load(v_ptr + (first + steps)[:, None] * D + dims[None, :], mask=(first + steps)[:, None] < n, other=0.0)
        s = tl.dot(q, k) * 0.5
        above = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - above[:, None])
        alpha = tl.exp2(m - above)
        total = total * alpha + tl.sum(p, 1)
        m = above
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc)
    for last in range(start, tl.minimum(start + BLOCK, n), BLOCK):
        kd = tl.load(k_ptr + (last + steps)[None, :] * D + dims[:, None], mask=(last + steps)[None, :] < n, other=0.0)
        vd = tl.load(v_ptr + (last + steps)[:, None] * D + dims[None, :], mask=(last + steps)[:, None] < n, other=0.0)
        sd = tl.dot(q, kd) * 0.5
        sd = tl.where(rows[:, None] >= (last + steps)[None, :], sd, float("-inf"))
        over = tl.maximum(m, tl.max(sd, 1))
        pd = tl.exp2(sd - over[:, None])
        beta = tl.exp2(m - over)
        total = total * beta + tl.sum(pd, 1)
        m = over
        acc = acc * beta[:, None]
        acc = tl.dot(pd.to(vd.dtype), vd, acc)
    out = acc / total[:, None]
    tl.store(out_ptr + rows[:, None] * D + dims[None, :], out.to(out_ptr.dtype.element_ty), mask=rows[:, None] < n)


def launch(q, k, v):
    out = torch.full_like(q, float("nan"))
    attention_kernel[(triton.cdiv(q.shape[0], 64),)](q, k, v, out, q.shape[0], BLOCK=64, D=32)
    return out
'''


@pytest.mark.parametrize("n", [8, 64, 136, 264])
def test_two_loops_of_a_kernel_have_functions_and_places_of_their_own(n: int, tmp_path: Path) -> None:
    text = upgraded(TWO_LOOPS).text
    made = re.findall(r"^def (\w+_between_dots\w*)\(", text, re.MULTILINE)
    forms = ("attention_kernel_pointers", "attention_kernel_tiles")
    assert made == [f"{form}_between_dots{number}" for form in forms for number in ("", "_2")]
    assert "free = NUM_BUFFERS - 1\n" in text and "free_2 = NUM_BUFFERS - 1\n" in text
    generator = torch.Generator().manual_seed(n)
    given = {name: torch.randn(n, 32, generator=generator).half() for name in "qkv"}
    found = run(text, tmp_path, **given)
    assert torch.equal(found.view(torch.int16), run(TWO_LOOPS, tmp_path, **given).view(torch.int16))


def in_names_of_one(text: str) -> str:
    """Both loops in the same names, the sums rescaled where the dots add to them, and a value of a branch's own."""
    for old, new in {
        "last": "first",
        "kd": "k",
        "vd": "v",
        "sd": "s",
        "pd": "p",
        "over": "above",
        "beta": "alpha",
    }.items():
        text = re.sub(rf"\b{old}\b", new, text)
    text = text.replace("acc = acc * alpha[:, None]\n        acc = tl.dot(p.to(v.dtype), v, acc)", ADDED)
    weighed = "        if D > 16:\n            weight = tl.load(k_ptr).to(tl.float32) * 0\n            s += weight\n"
    return text.replace("        above = tl.maximum(", f"{weighed}        above = tl.maximum(")


ADDED = "acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)"


@pytest.mark.parametrize("n", [8, 136, 264])
def test_loops_that_share_names_alone_both_overlap_and_rescale_before_the_dot(n: int, tmp_path: Path) -> None:
    original = in_names_of_one(TWO_LOOPS)
    assert original.count(ADDED) == 2 and original.count("weight =") == 2
    text = upgraded(original).text
    made = re.findall(r"^def (\w+_tiles_between_dots\w*)\(([^)]*)\)", text, re.MULTILINE)
    assert [name for name, _ in made] == [f"attention_kernel_tiles_between_dots{number}" for number in ("", "_2")]
    assert all("weight" not in given for _, given in made)
    rescaled = "acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, acc_layout))[:, None]\n"
    assert tiles_of(text).count(rescaled) == 4, "before the dot of the first iteration and of the others, twice"
    given = {name: torch.randn(n, 32, generator=torch.Generator().manual_seed(n)).half() for name in "qkv"}
    found = run(text, tmp_path, **given)
    assert torch.equal(found.view(torch.int16), run(original, tmp_path, **given).view(torch.int16))


def tiles_of(text: str) -> str:
    return text[text.index("def attention_kernel_tiles(") :]


def test_what_is_read_behind_a_loop_comes_out_of_it(tmp_path: Path) -> None:
    text = in_names_of_one(TWO_LOOPS)
    first, second = "    for first in range(0, start", "    for first in range(start,"
    text = text.replace(second, f"    total += tl.sum(p, 1)\n{second}")
    text = text.replace(first, f"    p = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)\n{first}")
    made = re.findall(r"\n        (.*) = attention_kernel_tiles_between_dots\(", upgraded(text).text)
    assert len(made) == 2 and all("p" in one.strip().split(", ") for one in made)
    given = {name: torch.randn(136, 32, generator=torch.Generator().manual_seed(1)).half() for name in "qkv"}
    found = run(upgraded(text).text, tmp_path, **given)
    assert torch.equal(found.view(torch.int16), run(text, tmp_path, **given).view(torch.int16))


def with_branch(before: str, after: str, version: str = VERSION) -> str:
    """Attention by hand with a sum that only the branch for a causal mask keeps."""
    text = attention(version)
    changes = [
        ("    slot = 0\n", f"{before}    slot = 0\n"),
        ("            visible = visible & (", "            kept = l_i\n            visible = visible & ("),
        ("        m_i = m_new\n", f"        m_i = m_new\n{after}"),
    ]
    for right, wrong in changes:
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    return text


BRANCHES = {
    # What it was where the branch is not taken.
    "kept": ("    kept = l_i + 1.0\n", "        l_i += kept * 0.5\n", True),
    # It has no value there, and nobody asks.
    "nothing": ("", "        if CAUSAL:\n            l_i += kept * 0.5\n", False),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", BRANCHES)
def test_what_a_branch_alone_assigns_is_kept_or_no_function_is_made(name: str, causal: bool, tmp_path: Path) -> None:
    before, after, function = BRANCHES[name]
    text = with_branch(before, after)
    written = upgraded(text).text
    assert "dot_started(" in written
    assert ("_between_dots(" in written) == function
    given: dict[str, Any] = {**operands("attention", 3), "causal": causal}
    expected = bits(run(text, tmp_path, **given))
    assert torch.equal(bits(launched(module_of(written, tmp_path, "written"), **given)), expected)
