"""Stage multibuffer: the vectors and numbers that a pipelined loop loads are loaded an iteration ahead."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tritonport.convert import ConvertOptions
from tritonport.verify.emulate import emulated

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def weighted_kernel(a_ptr, b_ptr, w_ptr, s_ptr, bias_ptr, o_ptr, flags, first, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, 32)
    acc = tl.zeros((32, 32), dtype=tl.float32)
    bias_ptrs = bias_ptr + rows
    for k in range(first, K, BLOCK):
        offs = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :])
        b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :])
        scale = tl.load(s_ptr + k // BLOCK)
        w = tl.load(w_ptr + offs, mask=offs < K - 4, other=1.0).to(tl.float32)
        bias = tl.load(bias_ptrs)
        acc = tl.dot((a * w[None, :]).to(tl.float16), b, acc * scale + bias[None, :])
        bias_ptrs += 32
    tl.store(o_ptr + rows[:, None] * 32 + rows[None, :], acc)


def launch(a, b, w, s, bias, first, BLOCK=16):
    o = torch.empty((32, 32), dtype=torch.float32)
    weighted_kernel[(1,)](a, b, w, s, bias, o, torch.zeros(1, dtype=torch.int32), first, a.shape[1], BLOCK)
    return o
"""
LAST = "        bias_ptrs += 32\n"


@cache
def upgraded(text: str = KERNEL) -> str:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="multibuffer")
    return conversion(text, options).text


def tiles_of(text: str) -> str:
    return text.partition("def weighted_kernel_tiles(")[2].partition("@triton.heuristics")[0]


def ahead(text: str) -> list[str]:
    """What is loaded before the loop, by name."""
    before = tiles_of(text).partition("    for k in range(")[0]
    names = (line.strip().partition(" = gl.load(") for line in before.splitlines())
    return [name for name, load, _ in names if load]


def inputs(blocks: int) -> dict[str, Any]:
    torch.manual_seed(0)
    k = 16 * blocks
    a, b = (torch.randint(-2, 3, size).to(torch.float16) for size in ((32, k), (k, 32)))
    # What stands behind the end is NaN: a load that is not masked there shows.
    w, s, bias = (torch.full((size + 40,), float("nan")) for size in (k, blocks, 32 * blocks))
    w[:k], s[:blocks], bias[: 32 * blocks] = (torch.randint(1, 3, (n,)).float() for n in (k, blocks, 32 * blocks))
    return dict(a=a, b=b, w=w, s=s, bias=bias)


def expected(a: torch.Tensor, b: torch.Tensor, w: torch.Tensor, s: torch.Tensor, bias: torch.Tensor, first: int) -> Any:
    out = torch.zeros(32, 32)
    k = a.shape[1]
    weights = torch.where(torch.arange(k) < k - 4, w[:k], 1.0)
    for number, start in enumerate(range(first, k, 16)):
        part = slice(start, start + 16)
        out = out * s[start // 16] + (a[:, part].float() * weights[part]) @ b[part].float()
        out = out + bias[32 * number : 32 * number + 32]
    return out


@pytest.mark.parametrize(("blocks", "first"), [(0, 0), (1, 0), (1, 16), (5, 0), (5, 32)])
def test_any_number_of_iterations(tmp_path: Path, blocks: int, first: int) -> None:
    text = upgraded()
    assert ahead(text) == ["scale_ahead", "w_ahead", "bias_ahead"]
    given = inputs(blocks)
    module: Any = module_of(text, tmp_path, "kernel")
    with emulated(target="sm_90"):
        got = module.launch(**given, first=first)
    torch.testing.assert_close(got, expected(**given, first=first), rtol=0, atol=0)


def test_a_loop_that_counts_down(tmp_path: Path) -> None:
    text = upgraded(KERNEL.replace("range(first, K, BLOCK)", "range(K - BLOCK, -1, -BLOCK)"))
    assert ahead(text) == ["scale_ahead", "w_ahead", "bias_ahead"]
    given = inputs(3)
    module: Any = module_of(text, tmp_path, "kernel")
    with emulated(target="sm_90"):
        got = module.launch(**given, first=0)
    out = torch.zeros(32, 32)
    weights = torch.where(torch.arange(48) < 44, given["w"][:48], 1.0)
    for number, start in enumerate((32, 16, 0)):
        part = slice(start, start + 16)
        out = out * given["s"][start // 16] + (given["a"][:, part].float() * weights[part]) @ given["b"][part].float()
        out = out + given["bias"][32 * number : 32 * number + 32]
    torch.testing.assert_close(got, out, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("tl.store(w_ptr + offs, w)", "w_ahead"),
        ("tl.store(s_ptr + k // BLOCK + 1, scale)", "scale_ahead"),
        ("tl.store(bias_ptr + rows + 32, bias)", "bias_ahead"),
    ],
)
def test_what_the_loop_writes_is_not_loaded_ahead(line: str, stays: str) -> None:
    found = ahead(upgraded(KERNEL.replace(LAST, f"{LAST}        {line}\n")))
    assert stays not in found and len(found) == 2


def test_another_program_may_write_before_an_atomic_operation() -> None:
    assert ahead(upgraded(KERNEL.replace(LAST, f"{LAST}        tl.atomic_add(flags, 1)\n"))) == []


def test_a_value_of_the_iteration_before_stays_one() -> None:
    text = KERNEL.replace("    for k in", "    scale = 1.0\n    for k in").replace(
        "        offs = k +", "        acc *= scale\n        offs = k +"
    )
    assert "scale_ahead" not in ahead(upgraded(text))


def test_what_is_read_behind_a_dot_alone_comes_while_the_dot_runs() -> None:
    without = KERNEL.replace(" + bias[None, :])", ")")
    text = without.replace(LAST, f"        acc = acc * bias[None, :]\n{LAST}")
    assert ahead(upgraded(text)) == ["scale_ahead", "w_ahead"]
    text = without.replace("acc * scale)", "acc * scale) + bias[None, :]")
    assert ahead(upgraded(text)) == ["scale_ahead", "w_ahead"]


def test_a_place_that_is_read_from_memory_stays_where_it_is_known() -> None:
    text = KERNEL.replace("bias = tl.load(bias_ptrs)", "bias = tl.load(bias_ptr + tl.load(flags + k) + rows)")
    found = ahead(upgraded(text))
    assert "bias_ahead" not in found and "scale_ahead" in found


SWITCHED = (
    KERNEL.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, HAS_BIAS: tl.constexpr, TURNED: tl.constexpr")
    .replace("        bias = tl.load(bias_ptrs)\n", "")
    .replace(
        "        acc = tl.dot((a * w[None, :]).to(tl.float16), b, acc * scale + bias[None, :])\n",
        """        a = (a * w[None, :]).to(tl.float16)
        if TURNED:
            acc = tl.trans(tl.dot(tl.trans(b), tl.trans(a), tl.trans(acc * scale)))
        else:
            acc = tl.dot(a, b, acc * scale)
        if HAS_BIAS:
            last = min(k + BLOCK, K) // BLOCK - 1
            bias = tl.load(bias_ptr + 32 * last + rows).to(tl.float32)
            bias = bias * 2
            acc += bias[None, :]
""",
    )
    .replace("first, BLOCK=16)", "first, BLOCK=16, HAS_BIAS=True, TURNED=False)")
    .replace("a.shape[1], BLOCK)", "a.shape[1], BLOCK, HAS_BIAS, TURNED)")
)


@pytest.mark.parametrize(
    ("blocks", "first", "biased", "turned"), [(4, 0, True, True), (1, 0, True, False), (3, 16, False, False)]
)
def test_a_load_behind_dots_that_stay_under_an_if(
    tmp_path: Path, blocks: int, first: int, biased: bool, turned: bool
) -> None:
    text = upgraded(SWITCHED)
    assert ahead(text) == ["scale_ahead", "w_ahead", "bias_ahead"]
    assert "            bias_loaded = bias_ahead\n" in text
    given = inputs(blocks)
    module: Any = module_of(text, tmp_path, "kernel")
    with emulated(target="sm_90"):
        got = module.launch(**given, first=first, HAS_BIAS=biased, TURNED=turned)
    bias = 2 * given["bias"] if biased else torch.zeros_like(given["bias"])
    bias = bias[32 * (first // 16) :]
    torch.testing.assert_close(got, expected(**{**given, "bias": bias}, first=first), rtol=0, atol=0)


@pytest.mark.parametrize("made", ["n % 3, n // 3", "tl.minimum(n, 0), tl.cdiv(n, 3)", "n + tl.arange(0, 1), n"])
def test_numbers_out_of_a_function_are_numbers_where_it_makes_no_tile(made: str, tmp_path: Path) -> None:
    function = f"@triton.jit\ndef places(n):\n    return {made}\n\n\n@triton.jit\ndef weighted"
    text = KERNEL.replace("@triton.jit\ndef weighted", function)
    text = text.replace("    rows = ", "    part, other = places(tl.program_id(0))\n    rows = ", 1)
    text = upgraded(text.replace("s_ptr + k // BLOCK", "s_ptr + k // BLOCK + part"))
    assert ("scale" in "".join(ahead(text))) == ("arange" not in made)
    if "arange" not in made:
        given = inputs(5)
        with emulated(target="sm_90"):
            found = module_of(text, tmp_path, "kernel").launch(**given, first=0)
        torch.testing.assert_close(found, expected(**given, first=0), rtol=0, atol=0)
