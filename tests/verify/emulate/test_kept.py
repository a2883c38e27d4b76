"""What was recorded of a kernel's code does the same, where it is run again, as the code itself."""

import inspect

import pytest
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from tritonport.verify.emulate import EmulationError, emulated

LINE = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))
FACTOR = tl.constexpr(2)


@triton.jit
def one_value_by_two_names(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x_ptr + i)
    b = a
    for _ in range(n):
        difference = a - b
        tl.store(out_ptr + i, tl.load(out_ptr + i) + difference)
        a = a + 1


def test_variables_that_are_one_value_at_first():
    x, out = torch.arange(16.0), torch.zeros(16)
    with emulated():
        one_value_by_two_names[(1,)](x, out, 4, N=16)
    assert out.tolist() == [0.0 + 1 + 2 + 3] * 16


@triton.jit
def same_as_before(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x_ptr + i)
    b = a
    for _ in range(n):
        b = a
        a = a * 2
    tl.store(out_ptr + i, b)


def test_an_assignment_that_changes_nothing_at_first():
    x, out = torch.arange(16.0), torch.zeros(16)
    with emulated():
        same_as_before[(1,)](x, out, 4, N=16)
    assert torch.equal(out, x * 8)


@triton.jit
def set_back(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), dtype=tl.float32)
    for part in range(2):
        total = tl.zeros((N,), dtype=tl.float32)
        for _ in range(n):
            total += tl.load(x_ptr + i)
        tl.store(out_ptr + part * N + i, total)


def test_a_constant_is_assigned_to_what_is_that_constant_at_first():
    x = torch.arange(16.0)
    with emulated():
        for n in (0, 3, 0, 2):
            out = torch.full((32,), torch.nan)
            set_back[(1,)](x, out, n, N=16)
            assert torch.equal(out, torch.cat([x, x]) * n)


@triton.jit
def scaled(x, bias_ptr, i, FLIP: tl.constexpr):
    if bias_ptr is not None:
        x += tl.load(bias_ptr + i)
    if FLIP:
        return -x * FACTOR
    return x * FACTOR


@triton.jit
def by_constants(x_ptr, bias_ptr, out_ptr, N: tl.constexpr, FLIP: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + i, scaled(tl.load(x_ptr + i), bias_ptr, i, FLIP))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
def test_launches_with_other_constants_types_and_nones(dtype):
    x, bias = torch.arange(32).to(dtype), torch.arange(32, 64).to(dtype)
    with emulated():
        for flip in (False, True, False):
            for given in (None, bias, None):
                out = torch.zeros_like(x)
                by_constants[(2,)](x, given, out, N=16, FLIP=flip)
                expected = x * 2 if given is None else (x + given) * 2
                assert torch.equal(out, -expected if flip else expected)


def test_a_global_that_has_changed(monkeypatch):
    x = torch.arange(32.0)
    for factor in (2, 3):
        monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(factor))
        out = torch.zeros_like(x)
        with emulated():
            by_constants[(2,)](x, None, out, N=16, FLIP=False)
        assert torch.equal(out, x * factor)


@gluon.jit
def put(out_ptr, i, x, n):
    y = x + 1
    gl.store(out_ptr + i, y, mask=i < n)  # here
    return y


@gluon.jit
def puts(out_ptr, n, N: gl.constexpr):
    i = gl.program_id(0) * N + gl.arange(0, N, layout=LINE)
    put(out_ptr, i, i, n)


def _here():
    lines, first = inspect.getsourcelines(put.fn)
    return first + next(number for number, line in enumerate(lines) if line.rstrip().endswith("# here"))


def test_a_fault_of_a_later_program_is_at_the_line_of_the_helper():
    out = torch.zeros(256 + 64, dtype=torch.int32)
    with emulated(), pytest.raises(EmulationError, match="out-of-bounds store") as caught:
        puts[(4,)](out, 1000, N=128)
    assert (caught.value.path, caught.value.line, caught.value.program) == (__file__, _here(), (2, 0, 0))


def test_masks_are_noted_at_the_line_of_the_helper():
    out = torch.zeros(320, dtype=torch.int32)
    with emulated() as emulator:
        puts[(4,)](out, 320, N=128)
    assert [(place.path, place.line, use.off, use.on) for place, use in emulator.masks.items()] == [
        (__file__, _here(), True, True)
    ]
    assert out.tolist() == list(range(1, 321))


@triton.jit
def largest_of_rows(x_ptr, out_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * N + tl.arange(0, N))
    value, where = tl.max(x, 0, return_indices=True)
    total = tl.cumsum(x, 0)
    tl.store(out_ptr + row * 3, value)
    tl.store(out_ptr + row * 3 + 1, where.to(tl.float32))
    tl.store(out_ptr + row * 3 + 2, tl.max(total))


def test_reductions_of_every_program():
    x = torch.randn(5, 64, generator=torch.Generator().manual_seed(0))
    out = torch.zeros(5, 3)
    with emulated():
        largest_of_rows[(5,)](x, out, N=64)
    expected = torch.stack([x.max(1).values, x.argmax(1).float(), x.cumsum(1).max(1).values], 1)
    torch.testing.assert_close(out, expected)


@triton.jit
def branch_of_data(x_ptr, out_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + i)
    if tl.sum(x) > 0:
        sign = 1.0
        x = x * 2
    else:
        sign = -1.0
    tl.store(out_ptr + row * N + i, x * sign)


def test_branches_that_programs_take_by_their_data():
    x = torch.tensor([[1.0] * 16, [-1.0] * 16, [2.0] * 16])
    out = torch.zeros_like(x)
    with emulated():
        branch_of_data[(3,)](x, out, N=16)
    assert out[:, 0].tolist() == [2.0, 1.0, 4.0]


@gluon.jit
def worker(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([1], [32], [gl.num_warps()], [0]))
    gl.store(out_ptr + i, i + gl.num_warps())


@gluon.jit
def partitions_of_other_sizes(out_ptr, N: gl.constexpr):
    gl.warp_specialize(
        [(worker, (out_ptr, N)), (worker, (out_ptr + N, N)), (worker, (out_ptr + 2 * N, N))], [2, 1], [24, 24]
    )


def test_partitions_with_other_numbers_of_warps():
    out = torch.zeros(3 * 128, dtype=torch.int32)
    with emulated():
        for _ in range(2):
            partitions_of_other_sizes[(2,)](out, N=128)
    i = torch.arange(128)
    assert out.tolist() == [*(i + 4), *(i + 2), *(i + 1)]


SHARED = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))
SLOTS = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))


@gluon.jit
def put_in_shared(x):
    return gl.allocate_shared_memory(x.dtype, x.shape, SHARED, x)


@gluon.jit
def buffers_of_a_static_loop(x_ptr, out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=LINE)
    x = gl.load(x_ptr + gl.program_id(0) * N + i)
    total = x
    before = put_in_shared(x)
    for k in gl.static_range(3):
        after = put_in_shared(x + k)
        total += before.load(LINE) * (k + 1)
        before = after
    gl.store(out_ptr + gl.program_id(0) * N + i, total)


def test_each_iteration_of_a_static_loop_has_a_buffer_of_its_own():
    x = torch.randint(0, 9, (3, 128), generator=torch.Generator().manual_seed(0))
    out = torch.zeros_like(x)
    with emulated():
        buffers_of_a_static_loop[(3,)](x, out, N=128)
    assert torch.equal(out, x + x + 2 * x + 3 * (x + 1))


@gluon.jit
def slot_of(index_ptr, out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=LINE)
    ring = gl.allocate_shared_memory(gl.int32, [2, N], SLOTS)
    place = ring.index(gl.load(index_ptr + gl.program_id(0)))
    place.store(i)
    gl.store(out_ptr + i, place.load(LINE))


def test_a_fault_of_a_later_program_names_the_memory():
    out = torch.zeros(128, dtype=torch.int32)
    with emulated(), pytest.raises(EmulationError, match=r"index 5 of `ring`, which has 2 slots") as caught:
        slot_of[(3,)](torch.tensor([1, 0, 5], dtype=torch.int32), out, N=128)
    assert caught.value.program == (2, 0, 0)
    assert torch.equal(out, torch.arange(128, dtype=torch.int32))
