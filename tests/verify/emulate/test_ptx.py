"""Inline PTX: single arithmetic instructions run, everything else is refused by name."""

import pytest
import torch
import triton
import triton.language as tl

from tritonport.verify.emulate import EmulationError, NotEmulated, emulated


@triton.jit
def unary_kernel(x_ptr, out_ptr, ASM: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    to = out_ptr.dtype.element_ty
    tl.store(out_ptr + i, tl.inline_asm_elementwise(ASM, CONSTRAINTS, [x], dtype=to, is_pure=True, pack=PACK))


@triton.jit
def fma_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    r = tl.inline_asm_elementwise(
        "fma.rn.f32 $0, $1, $2, $1;", "=f,f,f", [x, y], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out_ptr + i, r)


@triton.jit
def impure_kernel(x_ptr, out_ptr, ASM: tl.constexpr, PURE: tl.constexpr):
    i = tl.arange(0, 2)
    r = tl.inline_asm_elementwise(ASM, "=r,r", [tl.load(x_ptr + i)], dtype=tl.int32, is_pure=PURE, pack=1)
    tl.store(out_ptr + i, r)


@pytest.mark.parametrize(
    ("asm", "reference"),
    [
        ("tanh.approx.f32 $0, $1;", torch.tanh),
        ("ex2.approx.ftz.f32 $0, $1;", torch.exp2),
        ("{ rcp.approx.f32 $0, $1; }", torch.reciprocal),
        ("lg2.approx.f32 $0, $1", torch.log2),
        ("mov.f32 $0, $1;", lambda x: x),
        ("add.sat.f32 $0, $1, $1;", lambda x: (2 * x).clamp(0, 1)),
    ],
)
def test_floating_point_instructions(asm, reference):
    x = torch.rand(16, generator=torch.Generator().manual_seed(0)) + 0.1
    out = torch.empty_like(x)
    with emulated():
        unary_kernel[(1,)](x, out, ASM=asm, CONSTRAINTS="=f,f", PACK=1, N=16)
    torch.testing.assert_close(out.double(), reference(x.double()), rtol=1e-7, atol=1e-7)


def test_operands_are_taken_by_number():
    x, y, out = torch.tensor([2.0, 3.0]), torch.tensor([5.0, -1.0]), torch.empty(2)
    with emulated():
        fma_kernel[(1,)](x, y, out, N=2)
    assert out.tolist() == [12.0, 0.0]


def test_integer_instructions():
    x, out = torch.tensor([5, -6], dtype=torch.int32), torch.empty(2, dtype=torch.int32)
    with emulated():
        unary_kernel[(1,)](x, out, ASM="not.b32 $0, $1;", CONSTRAINTS="=r,r", PACK=1, N=2)
        assert out.tolist() == [-6, 5]
        unary_kernel[(1,)](x, out, ASM="mul.lo.u32 $0, $1, $1;", CONSTRAINTS="=r,r", PACK=1, N=2)
        assert out.tolist() == [25, 36]


@pytest.mark.parametrize(
    ("asm", "pack"),
    [
        ("mov.u32 $0, %smid;", 1),
        ("add.f16x2 $0, $1, $1;", 1),
        ("tanh.approx.f32 $0, $1;", 2),
        ("{ .reg .f32 t; mov.f32 t, $1; mov.f32 $0, t; }", 1),
        ("ex2.approx.f16 $0, $1;", 1),
        ("frobnicate.f32 $0, $1;", 1),
    ],
)
def test_what_has_no_model_is_refused(asm, pack):
    with emulated(), pytest.raises(NotEmulated, match="inline_asm_elementwise is not emulated: ") as caught:
        unary_kernel[(1,)](torch.zeros(4), torch.zeros(4), ASM=asm, CONSTRAINTS="=f,f", PACK=pack, N=4)
    assert isinstance(caught.value, EmulationError)
    assert asm.split()[0] in caught.value.message
    assert caught.value.kernel == "unary_kernel"


@pytest.mark.parametrize(
    "asm",
    [
        "fence.proxy.async.global; mov.b32 $0, $1;",
        "{ fence.proxy.async.shared::cta; fence.proxy.async; mov.b32 $0, $1; }",
        "fence.proxy.async; // for the TMA\nmov.b32 $0, $1;",
    ],
)
def test_what_follows_a_fence_is_computed(asm):
    x, out = torch.tensor([5, -6], dtype=torch.int32), torch.empty(2, dtype=torch.int32)
    with emulated():
        impure_kernel[(1,)](x, out, ASM=asm, PURE=False)
    assert out.tolist() == [5, -6]


def test_a_pure_fence_is_an_error():
    x, out = torch.tensor([5, -6], dtype=torch.int32), torch.empty(2, dtype=torch.int32)
    with emulated(), pytest.raises(EmulationError, match="inline PTX with a fence must say is_pure=False"):
        impure_kernel[(1,)](x, out, ASM="fence.proxy.async; mov.b32 $0, $1;", PURE=True)


def test_other_fences_are_refused():
    x, out = torch.tensor([5, -6], dtype=torch.int32), torch.empty(2, dtype=torch.int32)
    with emulated(), pytest.raises(NotEmulated, match=r"not emulated: fence\.proxy\.tensormap"):
        impure_kernel[(1,)](x, out, ASM="fence.proxy.tensormap::generic.acquire.gpu [$1], 128;", PURE=False)
