"""Stage tma: the signs of what functions make of the place of a program, and of compile-time steps."""

import textwrap
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.upgrade.test_tma import run, upgraded
from tritonport.source.module import SourceModule
from tritonport.upgrade.tma.schedules import above_zero_by

HEAD = """
import triton
import triton.language as tl

EDGE = tl.constexpr(-1)


@triton.jit
def back(one, other):
    return one - other


@triton.jit
def on(one, other):
    return one * 1 + other // 2


@triton.jit
def minimum(i, n):
    return i - n


@triton.jit
def less(i, by=-1):
    return i + by


@triton.jit
def unflat(i, n, turned=None):
    if turned is None:
        return i % n, i // n
    return i % n, i // n - turned


@triton.jit
def renewed(i, other=None):
    other = i - 1
    return i if other is None else other


@triton.jit
def place(PARAMETERS):
"""
FUNCTIONS = {
    # The parameters that must not be below zero, by name; None where it may be below zero all the same.
    "grouped": (
        "pid, M, BM: tl.constexpr, GROUP: tl.constexpr",
        "tiles = tl.cdiv(M, BM)\nwidth = GROUP * tiles\ngroup = pid // width\n"
        "size = min(tiles - group * GROUP, GROUP)\nreturn group * GROUP + pid % size, (pid % width) // size",
        {"pid", "M", "BM", "GROUP"},  # it divides by what is made of these
    ),
    "shifted": ("i, shift", "return tl.maximum(i, 0) // 2 + shift", {"shift"}),
    "the rest taken off": ("i, n", "return i - i % n", {"i"}),
    "in a loop": ("i, n", "for j in range(n):\n    i = i * 2 + j\nreturn i", {"i"}),
    "one of two": ("i, n", "return tl.where(i > n, 0, n), tl.maximum(n, 0)", {"n"}),
    "of another function": ("i, n", "return on(i, n)", {"i", "n"}),
    "parts of another function": ("i, n", "return on(i // n, 0), on(i % n, 0)", {"i", "n"}),
    "clamped": ("i, n", "row = max(i - n, 0) + min(i, n)\nreturn row // n, i % n", {"i", "n"}),
    "in branches": ("i, n", "row, col = i // n, i\nif n > 1:\n    col = i % n\nreturn row, col", {"i", "n"}),
    "cast": ("i, n, m", "r = min(n - i, m)\nfor j in range(r):\n    i += j\nreturn i.to(tl.int64) % r", {"i"}),
    "a difference": ("i, n", "return i // n - i % n", None),
    "of half": ("i, n", "row = i - n // 2\nreturn row, i", None),
    "taken off in place": ("i, n", "row = i\nrow -= n\nreturn row, i", None),
    "reversed": ("i, n", "return n - 1 - i", None),
    "one branch below": ("i, n", "if n > 4:\n    i -= 4\nreturn i", None),
    "one branch negative": ("i, n", "row = i\nif i > n:\n    row = -n\nreturn row, i", None),
    "below in a loop": ("i, n", "last = i\nfor j in range(n):\n    i = last\n    last = last - 1\nreturn i", None),
    "divided by a number below zero": ("i, n", "return i // -2 + n", None),
    "divided by what is turned": ("i, n", "return i // -n", None),
    "in blocks of a size": ("i, n", "return tl.cdiv(i, n)", {"i", "n"}),
    "cast to few bits": ("i, n", "return i.to(tl.int8)", None),
    "cast to many": ("i, n", "return i.to(tl.int64)", {"i"}),
    "a function with a name of Triton's": ("i, n", "return minimum(i, n)", None),
    "what a call leaves out": ("i, n", "return less(i)", None),
    "what a call gives in its place": ("i, n", "return less(i, n)", {"i", "n"}),
    "what a call leaves out as None": ("i, n", "return unflat(i, n)", {"i", "n"}),
    "what a call gives as None": ("i, n", "return unflat(i, n, turned=None)", {"i", "n"}),
    "what would be below zero, were it not None": ("i, n", "return unflat(i, n, n)", None),
    "what was None, and is a number then": ("i, n", "return renewed(i)", None),
    "several at once": ("i, n", "return less(*n)", None),
    "a loop from below": ("i, n", "row = i\nfor j in range(-n, n):\n    row = j\nreturn row, i", None),
    "a loop down": ("i, n", "row = i\nfor j in range(n, 0, -1):\n    row += j\nreturn row, i", None),
    "clamped and not": ("i, n", "less = i - n\nrow = max(less, 0)\nreturn row + less, i", None),
    "a function that takes away": ("i, n", "return back(i, n), i % n", None),
    "a choice that takes away": ("i, n, m", "return tl.where(i > n, i - m, i), i % n", None),
    "turned over": ("i, n", "return ~i, i % n", None),
    "of the file": ("i, n", "return i + EDGE, i % n", None),
    "of memory": ("i, n", "return tl.load(i), i % n", None),
    "one less": ("i, n", "i = i - 1\nreturn i, i % n", None),
    "nothing": ("i, n", "n + i", None),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_by_which_arguments_a_schedule_is_not_below_zero(case: str) -> None:
    parameters, body, needed = FUNCTIONS[case]
    text = HEAD.replace("PARAMETERS", parameters) + textwrap.indent(body, "    ") + "\n"
    found = above_zero_by(SourceModule(text, "kernel.py").kernels[-1])
    assert (set(found) if found is not None else None) == needed


KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, shift):
    return tl.maximum(i, 0) // 1 + shift


@triton.jit
def rows_kernel(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, SHIFT: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols, steps = tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    b = tl.load(b_ptr + steps[:, None] * N + cols[None, :])
    for i in range(0, 2 * STEP, STEP):
        a = tl.load(a_ptr + (rows + FIRST)[:, None] * K + steps[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)


def launch(a, b, shift, step):
    c = torch.full((16, b.shape[1]), float("nan"))
    rows_kernel[(1,)](a, b, c, a.stride(0), N=b.shape[1], SHIFT=shift, STEP=step, BLOCK=16)
    return c
"""


@pytest.mark.parametrize(("first", "shift", "step"), [("i", 0, 1), ("i", 0, -1), ("place(i, SHIFT)", -2, 1)])
def test_what_may_count_down_at_compile_time_is_asked_of_the_launch(
    first: str, shift: int, step: int, tmp_path: Path
) -> None:
    text = upgraded(KERNEL.replace("FIRST", first)).text
    torch.manual_seed(0)
    held, b = torch.randint(-4, 5, (32, 16)).half(), torch.randint(-4, 5, (16, 32)).half()
    got, made = run(text, tmp_path, a=held[8:], b=b, shift=shift, step=step)
    begins = [8 + i + shift for i in (0, step)]
    wanted = sum(held[begin : begin + 16].float() @ b.float() for begin in begins)
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert len(made) == 3 and all(made) if (shift, step) == (0, 1) else len(made) == 2, "none is asked for a"
