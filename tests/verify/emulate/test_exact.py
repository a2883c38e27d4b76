"""The exact run: beside each number what it would be without rounding."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from tritonport.verify.emulate import NotEmulated, emulated
from tritonport.verify.emulate.exact_memory import ExactMemory
from tritonport.verify.emulate.exact_torch import ExactTorch

N = 32


@triton.jit
def softmax_product(x_ptr, y_ptr, out_ptr, total_ptr, N: tl.constexpr):
    rows, cols = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + cols)
    y = tl.load(y_ptr + rows * N + cols)
    scores = tl.dot(x, y)
    weights = tl.exp2(scores - tl.max(scores, 1)[:, None])
    weights = (weights / tl.sum(weights, 1)[:, None]).to(tl.float16)
    out = tl.cumsum(tl.trans(tl.dot(weights, y)), 0)
    tl.store(out_ptr + cols.trans() * N + rows.trans(), out.to(out_ptr.dtype.element_ty))
    tl.atomic_add(total_ptr + tl.arange(0, N) % 2, tl.sum(out, 1))


@triton.jit
def elementwise(x_ptr, out_ptr, HOW: tl.constexpr):
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    if HOW == "chain":
        y = tl.sqrt(tl.abs(x)) * tl.sigmoid(x) + tl.where(x > 0.0, libdevice.tanh(x), tl.math.erf(x))
    elif HOW == "pairs":
        left, right = tl.split(tl.reshape(x * x, [32, 2]))
        y = tl.reshape(tl.join(right / 3.0, left / 7.0), [64])
    elif HOW == "cast and back":
        y = (x / 3.0).to(tl.bfloat16).to(tl.float32) * 3.0
    elif HOW == "whole numbers":
        y = (x * 10.0 / 3.0).to(tl.int32).to(tl.float32) / 7.0
    elif HOW == "bits":
        y = (x / 3.0).to(tl.int32, bitcast=True).to(tl.float32, bitcast=True) * 3.0
    tl.store(out_ptr + offs, y)


def pairs(x: torch.Tensor) -> torch.Tensor:
    halves = (x * x).reshape(32, 2)
    return torch.stack([halves[:, 1] / 3, halves[:, 0] / 7], dim=1).reshape(64)


def chain(x: torch.Tensor) -> torch.Tensor:
    return x.abs().sqrt() * torch.sigmoid(x) + torch.where(x > 0, torch.tanh(x), torch.special.erf(x))


def exactly(memory: ExactMemory, tensor: torch.Tensor) -> torch.Tensor:
    found = memory.of_tensor(tensor)
    assert found is not None
    assert found.dtype == torch.float64 and found.shape == tensor.shape
    return found


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dots_reductions_scans_casts_and_atomics(dtype: torch.dtype) -> None:
    x, y = (torch.randn(N, N).half() for _ in range(2))
    out, total = torch.empty(N, N, dtype=dtype), torch.full((2,), 3.0)
    memory = ExactMemory()
    with emulated(exact=memory):
        softmax_product[(1,)](x, y, out, total, N)
    scores = x.double() @ y.double()
    weights = torch.softmax(scores * torch.log(torch.tensor(2.0, dtype=torch.float64)), 1)
    right = (weights @ y.double()).T.cumsum(0)
    assert (exactly(memory, out) - right).abs().max() < 1e-12
    assert (out.double() - right).abs().max() > 1e-5
    sums = 3 + torch.stack([right[0::2].sum(), right[1::2].sum()])
    assert (exactly(memory, total) - sums).abs().max() < 1e-11
    assert memory.rounded == set()
    assert memory.of_tensor(x) is None


@pytest.mark.parametrize(
    ("how", "right"),
    [
        ("chain", chain),
        ("pairs", pairs),
        ("cast and back", lambda x: x),
        ("whole numbers", lambda x: (x.float() * 10 / 3).int().double() / 7),
    ],
)
def test_an_expression_is_that_of_float64(how: str, right: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x, out, memory = torch.randn(64), torch.empty(64), ExactMemory()
    with emulated(exact=memory):
        elementwise[(1,)](x, out, how)
    assert (exactly(memory, out) - right(x.double())).abs().max() < 1e-14
    assert memory.rounded == set()


def test_bits_go_on_from_the_rounded_number_and_are_named() -> None:
    x, out, memory = torch.randn(64), torch.empty(64), ExactMemory()
    with emulated(exact=memory):
        elementwise[(1,)](x, out, "bits")
    assert torch.equal(exactly(memory, out), (x / 3).double() * 3)
    assert memory.rounded == {"bitcast"}


@pytest.mark.parametrize("between", ["nothing", "by torch", "zeroed", "in place"])
def test_what_is_stored_stays_exact_until_something_else_is_there(between: str) -> None:
    x, middle, out, memory = torch.randn(64), torch.empty(64), torch.empty(64), ExactMemory()
    with emulated(exact=memory), ExactTorch(memory):
        elementwise[(1,)](x, middle, "pairs")
        given, right = middle, pairs(x.double())
        if between == "by torch":
            given, right = (middle.bfloat16().float() * 3).flip(0), (right * 3).flip(0)
        elif between == "zeroed":
            middle.zero_()
            right = right * 0
        elif between == "in place":
            middle[8:].add_(middle[:1])
            right = torch.cat([right[:8], right[8:] + right[0]])
        elementwise[(1,)](given, out, "chain")
    assert (exactly(memory, out) - chain(right)).abs().max() < 1e-14


def test_without_torch_in_the_run_what_torch_wrote_is_taken_as_it_is() -> None:
    x, middle, out, memory = torch.randn(64), torch.empty(64), torch.empty(64), ExactMemory()
    with emulated(exact=memory):
        elementwise[(1,)](x, middle, "pairs")
        middle[:32] = 1 / 3
        elementwise[(1,)](middle, out, "cast and back")
    assert torch.equal(exactly(memory, out)[:32], middle.double()[:32])
    assert (exactly(memory, out) - pairs(x.double()))[32:].abs().max() < 1e-14


def test_the_run_takes_the_branches_of_the_rounded_numbers_and_leaves_them_as_they_are() -> None:
    x = torch.randn(N, N).half()
    plain, beside = torch.empty(N, N), torch.empty(N, N)
    totals: list[Any] = [torch.zeros(2), torch.zeros(2)]
    with emulated():
        softmax_product[(1,)](x, x, plain, totals[0], N)
    with emulated(exact=ExactMemory()):
        softmax_product[(1,)](x, x, beside, totals[1], N)
    assert torch.equal(plain, beside) and torch.equal(*totals)


def test_gluon_has_no_exact_run() -> None:
    from triton.experimental import gluon

    @gluon.jit
    def nothing(x_ptr):
        pass

    with pytest.raises(NotEmulated, match="exact run"), emulated(exact=ExactMemory()):
        nothing[(1,)](torch.zeros(1))
