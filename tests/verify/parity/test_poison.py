"""Poisoned and guarded memory."""

import os
from pathlib import Path

import pytest
import torch

from tritonport.verify.lazy_bytes import LEAST
from tritonport.verify.poison import GUARD, Arena, is_poison, poison_byte, poisoned_allocations
from tritonport.verify.tensors import input_leaves, leaves, replace_inputs, same_memory


@pytest.mark.parametrize(
    "allocate",
    [
        lambda x: torch.empty(3, 4),
        torch.empty_like,
        lambda x: x.new_empty(5),
        lambda x: x.new_empty((5, 2), dtype=torch.bfloat16),
        lambda x: torch.empty_strided((2, 3), (8, 2)),
        lambda x: x.new_empty_strided((2,), (3,)),
        lambda x: torch.empty_permuted((2, 3), (1, 0)),
        lambda x: torch.empty(4, dtype=torch.float8_e4m3fn).float(),
        lambda x: torch.FloatTensor(3),
        lambda x: torch.empty(2, dtype=torch.complex64),
        lambda x: torch.empty(()),
    ],
)
@pytest.mark.parametrize("guard", [0, GUARD])
def test_every_way_to_allocate_floats_gives_nan(allocate, guard):
    with poisoned_allocations(Arena(guard)):
        assert bool(allocate(torch.ones(2, 2)).isnan().all())


def test_integers_hold_a_pattern_and_initialised_tensors_their_values():
    with poisoned_allocations(Arena()):
        assert torch.empty(2, dtype=torch.int32).tolist() == [0x5B5B5B5B] * 2
        assert torch.empty(2, dtype=torch.bool).tolist() == [True, True]
        assert torch.zeros(2).tolist() == [0.0, 0.0]
        assert torch.arange(3).tolist() == [0, 1, 2]
        assert torch.empty(0).shape == (0,)
        assert torch.empty(2, 3, device="meta").shape == (2, 3)
    assert poison_byte(torch.float16) == 0xFF


def test_shape_strides_and_type_are_those_that_were_asked_for():
    x = torch.ones(4, 6).t()
    with poisoned_allocations(Arena()):
        like = torch.empty_like(x)
    assert (like.shape, like.stride(), like.dtype) == (x.shape, x.stride(), x.dtype)
    assert like.data_ptr() % 64 == 0


def test_after_the_block_torch_is_as_it_was():
    with poisoned_allocations(Arena()):
        pass
    assert torch.empty(4, out=torch.zeros(4)) is not None
    torch.ones(8).mul_(2)
    assert not bool(is_poison(torch.zeros(8)).any())


def test_autograd_works_inside_the_block():
    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx, x):
            out = torch.empty_like(x)
            return out.copy_(x * 2)

        @staticmethod
        def backward(ctx, grad):
            return torch.empty_like(grad).copy_(grad * 2)

    x = torch.ones(3, requires_grad=True)
    with poisoned_allocations(Arena()):
        Double.apply(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0, 2.0]


def test_writes_outside_of_an_allocation_are_found():
    arena = Arena()
    with poisoned_allocations(arena):
        out = torch.empty(10)
        other = torch.empty(3, dtype=torch.int8)
    assert arena.overruns() == []
    out.as_strided((1,), (1,), out.storage_offset() + 12).fill_(1.0)
    other.as_strided((1,), (1,), other.storage_offset() - 2).fill_(1)
    assert [str(overrun) for overrun in arena.overruns()] == [
        "4 bytes written outside of empty[0] (float32, 10), the first 8 bytes after the end",
        "1 bytes written outside of empty[1] (int8, 3), the first 2 bytes before the start",
    ]


def test_a_tensor_that_grows_is_no_overrun():
    arena = Arena()
    with poisoned_allocations(arena):
        out = torch.empty(2)
        torch.add(torch.ones(50), 1, out=out.resize_(50))
    assert out.tolist() == [2.0] * 50
    assert arena.overruns() == []


def test_inputs_move_between_guards_with_their_aliases():
    base = torch.arange(12.0).reshape(3, 4)
    leaf = torch.ones(2, requires_grad=True)
    inputs = {"x": base, "row": base[1], "again": base, "pair": [leaf, 3], "name": "n"}
    arena = Arena()
    moved = arena.rehouse(input_leaves(inputs))
    new = replace_inputs(inputs, lambda name, tensor: moved[name])
    assert new["x"].tolist() == base.tolist() and new["x"].data_ptr() != base.data_ptr()
    assert new["again"] is new["x"]
    new["x"][1, 0] = 99.0
    assert new["row"][0] == 99.0 and base[1, 0] == 4.0
    assert new["pair"][0].requires_grad and new["pair"][0].is_leaf and new["pair"][1] == 3
    new["x"].as_strided((1,), (1,), new["x"].storage_offset() + 12).fill_(0.0)
    assert [overrun.label for overrun in arena.overruns()] == ["x"]


def test_without_guards_inputs_stay_where_they_are():
    x = torch.ones(3)
    assert Arena(0).rehouse({"x": x})["x"] is x


def test_leaves_of_nested_results():
    from typing import NamedTuple

    class Pair(NamedTuple):
        a: object
        b: object

    x = torch.ones(1)
    found = leaves({"y": [x, None, (2, "s")], "p": Pair(x, 1.5)}, "result")
    assert list(found) == ["result['y'][0]", "result['y'][2][0]", "result['p'].a", "result['p'].b"]
    assert leaves(None, "result") == {}
    assert same_memory(x, x.view(1)) and not same_memory(x, x.clone())


def test_gradients_of_inputs_are_leaves():
    x = torch.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    assert list(input_leaves({"x": x})) == ["x", "x.grad"]


LARGE = 1 << 30


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the system has no files in memory")
def test_gigabytes_are_poison_and_take_up_room_only_where_they_are_touched():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    with poisoned_allocations(Arena(0)):
        x = torch.empty(LARGE // 2, dtype=torch.bfloat16)
        other = torch.empty(LARGE // 4, dtype=torch.int32)
    far = x.as_strided((5, 3), (LARGE // 8 - 1, 1))
    assert bool(far.isnan().all()) and bool(x[-3:].isnan().all())
    far[1] = 2.0
    # What is written is one tensor's alone, and goes where it was written.
    assert far[:, 0].nan_to_num().tolist() == [0.0, 2.0, 0.0, 0.0, 0.0]
    assert torch.equal(x[LARGE // 8 - 2 : LARGE // 8 + 3].nan_to_num(), torch.tensor([0.0, 2, 2, 2, 0]).bfloat16())
    assert other[:: LARGE // 16].tolist() == [0x5B5B5B5B] * 4
    assert resident() - before < LARGE // 8
    rows = far.clone()
    assert rows[1].tolist() == [2.0, 2.0, 2.0]


def test_what_lies_beside_a_large_tensor_is_watched():
    arena = Arena()
    with poisoned_allocations(arena):
        x = torch.empty(LEAST + 5, dtype=torch.uint8)
    assert x.storage_offset() == GUARD and bool((x[-5:] == poison_byte(torch.uint8)).all())
    x.as_strided((2,), (1,), GUARD + LEAST + 4)[:] = 1
    (overrun,) = arena.overruns()
    assert (overrun.distance, overrun.count) == (0, 1)
