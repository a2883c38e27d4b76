"""Stage tma: loops that write what they read through another argument; copies run ahead of them, pointers do not."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.convert.kernels import module_of
from tests.upgrade.test_tma import run, upgraded

CHAIN = """
import triton
import triton.language as tl


@triton.jit
def put(ptrs, value):
    tl.store(ptrs, value)


@triton.jit
def chain_kernel(x_ptr, w_ptr, y_ptr, n, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    w = tl.load(w_ptr + c[:, None] * C + c[None, :])
    for i in range(n):
        a = tl.load(x_ptr + (i * R + r)[:, None] * C + c[None, :])
        y = tl.dot(a, w)
        tl.store(y_ptr + (i * R + r)[:, None] * C + c[None, :], y.to(tl.float16))


def launch(x, w, y):
    chain_kernel[(1,)](x, w, y, y.shape[0] // 16, R=16, C=16, num_stages=1)
    return y
"""


@pytest.mark.parametrize("text", [CHAIN, CHAIN.replace("tl.store(y_ptr", "put(y_ptr")], ids=["store", "function"])
def test_a_launch_whose_loop_writes_what_it_reads_takes_the_pointers(text: str, tmp_path: Path) -> None:
    port = upgraded(text).text
    both, w = torch.ones(16 * 5, 16, dtype=torch.float16), torch.eye(16, dtype=torch.float16) * 2
    got, fewer = run(port, tmp_path, x=both[:-16], w=w, y=both[16:])
    assert got[::16, 0].tolist() == [2, 4, 8, 16]
    got, made = run(port, tmp_path, x=both[:32], w=w, y=both[32:64])  # parts of one tensor that do not meet
    assert got[::16, 0].tolist() == [2, 4] and all(made)
    assert len(fewer) == len(made) - 1, "a descriptor that every copy needs is not made"


def test_what_is_asked_of_two_arguments(tmp_path: Path) -> None:
    module: Any = module_of(upgraded(CHAIN).text, tmp_path, "kernel")
    base = torch.zeros(8, 8)

    def apart(x: Any, y: Any) -> bool:
        found = module.apart(dict(x=x, y=y), ["x"], ["y"])
        assert found == module.apart(dict(x=y, y=x), ["x"], ["y"])
        return bool(found)

    assert apart(base, torch.zeros(8, 8))
    assert not apart(base, base) and not apart(base[:5], base[4:]) and not apart(base[0], base.view(torch.int32))
    assert apart(base[:4], base[4:]) and apart(base[:0], base) and apart(base[0, :1], base[0, 1:])
    assert not apart(base[:1].expand(4, 8), base[:1])
    assert module.apart(dict(x=base, y=base), ["x"], ["x"]), "what the kernel knows for one"
    assert apart(base, None) and apart(base, 3) and apart(torch.zeros(0), torch.zeros(0))


def test_what_is_written_behind_the_loop_is_not_asked() -> None:
    assert "apart(" not in upgraded(CHAIN.replace("        tl.store(y_ptr + (i", "    tl.store(y_ptr + (n")).text
