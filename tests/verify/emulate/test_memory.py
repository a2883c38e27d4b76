"""Loads, stores, atomics, and addresses that are wrong."""

import operator
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from tritonport.verify.emulate import EmulationError, addresses, emulated


@triton.jit
def masked_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    filled = tl.load(x_ptr + i, mask=i < n, other=-7, cache_modifier=".cg", eviction_policy="evict_first")
    plain = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, filled, cache_modifier=".wt")
    tl.store(out_ptr + N + i, plain, mask=i < N // 2, eviction_policy="evict_last")


def test_masks_and_fill_values():
    x, out = torch.arange(5.0), torch.full((16,), 9.0)
    with emulated():
        masked_kernel[(1,)](x, out, 3, N=8)
    assert out.tolist() == [0, 1, 2, -7, -7, -7, -7, -7, 0, 1, 2, 0, 9, 9, 9, 9]


def test_masked_lanes_can_be_poisoned():
    x, out = torch.arange(5.0), torch.full((16,), 9.0)
    with emulated(poison_masked=True):
        masked_kernel[(1,)](x, out, 3, N=8)
    assert out[:8].tolist() == [0, 1, 2, -7, -7, -7, -7, -7]
    assert out[8:11].tolist() == [0, 1, 2]
    assert out[11].isnan()


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x, mask=i < n)


def test_an_out_of_bounds_load_names_line_program_and_tensor():
    x, out = torch.arange(10.0), torch.zeros(10)
    with emulated(), pytest.raises(EmulationError) as caught:
        copy_kernel[(3,)](x, out, 10, BLOCK=4)
    error = caught.value
    assert error.program == (2, 0, 0)
    assert error.kernel == "copy_kernel"
    assert error.path == __file__ and error.line is not None
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert lines[error.line - 1].strip() == "x = tl.load(x_ptr + i)"
    assert "out-of-bounds load" in error.message and "`x_ptr`" in error.message and "(2,)" in error.message
    assert out.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 0]


@triton.jit
def bad_store_kernel(out_ptr, offset):
    tl.store(out_ptr + offset, 1.0)


def test_an_out_of_bounds_store():
    out = torch.zeros(4)
    with emulated():
        for offset in (4, -1, 10**9):
            with pytest.raises(EmulationError, match="out-of-bounds store"):
                bad_store_kernel[(1,)](out, offset)
        bad_store_kernel[(1,)](out, 3)
    assert out.tolist() == [0, 0, 0, 1]


def test_a_view_may_be_left_within_its_storage():
    storage = torch.zeros(8)
    with emulated():
        bad_store_kernel[(1,)](storage[2:4], -2)
        bad_store_kernel[(1,)](storage[2:4], 5)
    assert storage.tolist() == [1, 0, 0, 0, 0, 0, 0, 1]


@triton.jit
def misaligned_kernel(x_ptr, out_ptr):
    shifted = (x_ptr.to(tl.pointer_type(tl.int8)) + 2).to(tl.pointer_type(tl.int32))
    tl.store(out_ptr, tl.load(shifted))


@triton.jit
def pointer_cast_kernel(x_ptr, out_ptr):
    halves = x_ptr.to(tl.pointer_type(tl.int16))
    tl.static_assert(x_ptr.dtype.element_ty == tl.int32)
    tl.static_assert(x_ptr.dtype.element_ty.primitive_bitwidth == 32)
    tl.static_assert(halves.dtype.element_ty.primitive_bitwidth == 16)
    tl.store(out_ptr, tl.load(halves).to(out_ptr.dtype.element_ty))
    tl.store(out_ptr + 1, tl.load(halves + 1).to(out_ptr.type.element_ty))
    address = x_ptr.to(tl.int64)
    tl.store(out_ptr + 2, tl.load((address + 4).to(tl.pointer_type(tl.int32))))


def test_pointer_casts():
    x, out = torch.tensor([0x00050003, 77], dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    with emulated():
        pointer_cast_kernel[(1,)](x, out)
        with pytest.raises(EmulationError, match="misaligned load"):
            misaligned_kernel[(1,)](x, out)
    assert out.tolist() == [3, 5, 77]


@triton.jit
def table_kernel(table_ptr, out_ptr, N: tl.constexpr):
    x_ptr = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, N)
    tl.store(out_ptr + tl.program_id(0) * N + i, tl.load(x_ptr + i))


def test_a_table_of_pointers():
    tensors = [torch.arange(4.0), torch.arange(4.0) * 10]
    table = torch.tensor([tensor.data_ptr() for tensor in tensors], dtype=torch.int64)
    out = torch.zeros(2, 4)
    with emulated() as emulator:
        with pytest.raises(EmulationError, match="out-of-bounds"):
            table_kernel[(2,)](table, out, N=4)
        for tensor in tensors:
            emulator.make_reachable(tensor)
        table_kernel[(2,)](table, out, N=4)
    assert torch.equal(out, torch.stack(tensors))


def test_addresses_in_a_table_are_followed_where_that_is_asked_for():
    tensors = [torch.arange(4.0), torch.arange(4.0) * 10]
    table = torch.tensor([tensor.data_ptr() for tensor in tensors], dtype=torch.int64)
    out = torch.zeros(2, 4)
    with emulated(follow_addresses=True):
        table_kernel[(2,)](table, out, N=4)
        assert torch.equal(out, torch.stack(tensors))
        # The extent of what is pointed to is known: 4 elements, of which 8 are read.
        with pytest.raises(EmulationError, match="out-of-bounds load"):
            table_kernel[(1,)](table, torch.zeros(8), N=8)
        # An address of nothing that lives.
        with pytest.raises(EmulationError, match="out-of-bounds load"):
            table_kernel[(1,)](torch.tensor([table.data_ptr() + (1 << 40)]), out, N=4)


def test_whole_numbers_that_are_no_addresses_cost_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    unwritten = torch.full((3,), 0x5B, dtype=torch.uint8).repeat(8).view(torch.int64)
    searches = []

    def searched() -> list[object]:
        searches.append(1)
        return []

    monkeypatch.setattr("gc.get_objects", searched)
    for numbers in (torch.tensor([-100, 0, 7, 65535]), unwritten):
        assert list(addresses.addressed([numbers, 3, None])) == []
    assert searches == []
    assert list(addresses.addressed([torch.tensor([numbers.data_ptr()])])) == []
    assert searches == [1]


@triton.jit
def atomics_kernel(x_ptr, old_ptr, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    value = (i * 3 % 7).to(x_ptr.dtype.element_ty)
    at = x_ptr + i % 2
    on = i != 2
    if OP == "add":
        old = tl.atomic_add(at, value, mask=on, sem="relaxed", scope="gpu")
    elif OP == "max":
        old = tl.atomic_max(at, value, mask=on)
    elif OP == "min":
        old = tl.atomic_min(at, value, mask=on)
    elif OP == "and":
        old = tl.atomic_and(at, value, mask=on)
    elif OP == "or":
        old = tl.atomic_or(at, value, mask=on)
    elif OP == "xor":
        old = tl.atomic_xor(at, value, mask=on)
    else:
        old = tl.atomic_xchg(at, value, mask=on)
    tl.store(old_ptr + i, old, mask=on)


@pytest.mark.parametrize("op", ["add", "max", "min", "and", "or", "xor", "xchg"])
def test_integer_atomics_act_lane_after_lane(op):
    x, old = torch.tensor([5, 6], dtype=torch.int32), torch.full((8,), -1, dtype=torch.int32)
    with emulated():
        atomics_kernel[(1,)](x, old, OP=op, N=8)
    combine: Any = {
        "add": operator.add, "max": max, "min": min, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
        "xchg": lambda old, new: new,
    }[op]  # fmt: skip
    cells, seen = [5, 6], [-1] * 8
    for lane in range(8):
        if lane != 2:
            seen[lane] = cells[lane % 2]
            cells[lane % 2] = combine(cells[lane % 2], lane * 3 % 7)
    assert x.tolist() == cells
    assert old.tolist() == seen


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_floating_point_atomic_add(dtype):
    x, old = torch.tensor([0.5, 0.25], dtype=dtype), torch.zeros(8, dtype=dtype)
    with emulated():
        atomics_kernel[(1,)](x, old, OP="add", N=8)
    assert x.tolist() == [0.5 + 0 + 5 + 4, 0.25 + 3 + 2 + 1 + 0]


@pytest.mark.parametrize(("op", "expected"), [("max", [5.0, 3.0]), ("min", [-2.5, 0.0])])
def test_floating_point_atomic_max_and_min(op, expected):
    x, old = torch.tensor([-2.5, 0.25]), torch.zeros(8)
    with emulated():
        atomics_kernel[(1,)](x, old, OP=op, N=8)
    assert x.tolist() == expected


@triton.jit
def count_kernel(counter_ptr, out_ptr, n):
    ticket = tl.atomic_add(counter_ptr, 1)
    tl.store(out_ptr + ticket, tl.program_id(0))
    if ticket == n - 1:
        tl.store(out_ptr + n, 1)


def test_scalar_atomics_across_programs():
    counter, out = torch.zeros(1, dtype=torch.int32), torch.zeros(6, dtype=torch.int32)
    with emulated():
        count_kernel[(5,)](counter, out, 5)
    assert counter.item() == 5
    assert out.tolist() == [0, 1, 2, 3, 4, 1]


@triton.jit
def lock_kernel(lock_ptr, count_ptr, sum_ptr, x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * N + i)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(count_ptr)
    if count == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        x += tl.load(sum_ptr + i)
    tl.store(sum_ptr + i, x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def test_a_lock_is_free_for_each_program():
    x = torch.arange(32.0).reshape(4, 8)
    lock, count, total = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32), torch.empty(8)
    with emulated():
        lock_kernel[(4,)](lock, count, total, x, N=8)
    assert torch.equal(total, x.sum(0))
    assert lock.item() == 0


@triton.jit
def never_released_kernel(lock_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass


@triton.jit
def flag_kernel(flag_ptr, n):
    seen = 0
    while seen < n:
        seen = tl.load(flag_ptr, volatile=True)


@triton.jit
def endless_kernel(out_ptr, n):
    k = n
    while k > 0:
        k += 1
        tl.store(out_ptr, k & 7)


def test_a_spin_that_cannot_end_is_found():
    lock = torch.zeros(1, dtype=torch.int32)
    with emulated():
        with pytest.raises(EmulationError, match="can never end") as caught:
            never_released_kernel[(2,)](lock)
        assert caught.value.program == (1, 0, 0) and caught.value.line is not None
        lines = Path(__file__).read_text(encoding="utf-8").splitlines()
        assert "atomic_cas(lock_ptr, 0, 1) == 1" in lines[caught.value.line - 1]
        with pytest.raises(EmulationError, match="can never end"):
            flag_kernel[(1,)](torch.zeros(1, dtype=torch.int32), 1000)
    with emulated(loop_limit=500), pytest.raises(EmulationError, match="more than 500 iterations"):
        endless_kernel[(1,)](lock, 7)
    with emulated(time_limit=0.2), pytest.raises(EmulationError, match="time limit"):
        endless_kernel[(1,)](lock, 7)


@triton.jit
def dtype_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, (x.to(tl.float32) + 1).to(x.dtype))


@pytest.mark.parametrize(
    "dtype",
    [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
     torch.float32, torch.float64, torch.float8_e5m2, torch.float8_e4m3fn],
)  # fmt: skip
def test_every_element_type_can_be_loaded_and_stored(dtype):
    x = torch.tensor([0, 1, 2, 3]).to(dtype)
    out = torch.zeros(4, dtype=torch.uint8).to(dtype)
    with emulated():
        dtype_kernel[(1,)](x, out, N=4)
    assert out.float().tolist() == (x.float() + 1).to(dtype).float().tolist()


@triton.jit
def descriptor_kernel(x_ptr, out_ptr, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    out = tl.make_tensor_descriptor(out_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    at = tl.program_id(0) * BM
    for start in range(0, columns, BN):
        out.store([at, start], x.load([at, start]) * 2)


def test_tensor_descriptors_fill_and_clip():
    x = torch.randn(20, 24)
    out = torch.zeros(20, 24)
    with emulated():
        descriptor_kernel[(2,)](x, out, 20, 24, BM=16, BN=16)
    assert torch.equal(out, 2 * x)
