"""Whole kernels with asynchronous copies and products: pipelines, rings between partitions, several schedules."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from tests.verify.emulate.faults import ACC, LOAD, STORE, TILE, at, descriptor, matrix
from tritonport.verify.emulate import EmulationError, NotEmulated, emulated

EXAMPLES = Path(os.environ.get("TRITONPORT_EXAMPLES", Path(__file__).parents[4] / "shared" / "examples"))
LINE = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))


@gluon.jit
def issue(a_desc, b_desc, m, k, n, smem, bar, pred):
    """Start the loads of block k of a row of tiles of a and of a column of tiles of b."""
    mbarrier.expect(bar, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
    LOAD(a_desc, [m * 64, k * 64], bar, smem.index(0), pred=pred)
    LOAD(b_desc, [k * 64, n * 64], bar, smem.index(1), pred=pred)


@gluon.jit
def pipelined(a_desc, b_desc, c_desc, M, N, K, SLOTS: gl.constexpr):
    smem = gl.allocate_shared_memory(a_desc.dtype, [SLOTS, 2, 64, 64], a_desc.layout)
    c_smem = gl.allocate_shared_memory(c_desc.dtype, [64, 64], c_desc.layout)
    bars = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(bars.index(slot), count=1)
    steps = gl.cdiv(K, 64)
    columns = gl.cdiv(N, 64)
    taken = 0
    for tile in range(gl.program_id(0), gl.cdiv(M, 64) * columns, gl.num_programs(0)):
        m = tile // columns
        n = tile % columns
        for first in gl.static_range(SLOTS - 1):
            s = (taken + first) % SLOTS
            issue(a_desc, b_desc, m, first, n, smem.index(s), bars.index(s), first < steps)
        acc = gl.zeros([64, 64], gl.float32, ACC)
        for k in range(steps):
            s = taken % SLOTS
            mbarrier.wait(bars.index(s), (taken // SLOTS) & 1)
            acc = warpgroup_mma(smem.index(s).index(0), smem.index(s).index(1), acc, is_async=True)
            acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
            ahead = k + SLOTS - 1
            s = (taken + SLOTS - 1) % SLOTS
            issue(a_desc, b_desc, m, ahead, n, smem.index(s), bars.index(s), ahead < steps)
            taken += 1
        tma.store_wait(pendings=0)
        c_smem.store(acc.to(c_desc.dtype))
        fence_async_shared()
        STORE(c_desc, [m * 64, n * 64], c_smem)
    tma.store_wait(pendings=0)


@pytest.mark.parametrize(
    ("sizes", "slots", "programs"), [((128, 128, 256), 3, 2), ((100, 72, 136), 2, 1), ((64, 64, 8), 4, 1)]
)
def test_a_persistent_pipeline(sizes, slots, programs):
    m, n, k = sizes
    gen = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-2, 3, shape, generator=gen).half() for shape in ((m, k), (k, n)))
    c = torch.zeros(m, n, dtype=torch.float16)
    with emulated() as emulator:
        pipelined[(programs,)](descriptor(a), descriptor(b), descriptor(c), m, n, k, SLOTS=slots)
    assert torch.equal(c, (a.float() @ b.float()).half())
    assert emulator.launches[0].dialect == "gluon"


@gluon.jit
def feed(desc, out_ptr, n, smem, full, empty, SLOTS: gl.constexpr):
    gl.static_assert(gl.num_warps() == 1)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(empty.index(s), ((i // SLOTS) & 1) ^ 1)
        mbarrier.expect(full.index(s), desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], full.index(s), smem.index(s))


@gluon.jit
def consume(desc, out_ptr, n, smem, full, empty, SLOTS: gl.constexpr):
    gl.static_assert(gl.num_warps() == 4)
    acc = gl.zeros([64, 64], gl.float32, ACC)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)
        acc = warpgroup_mma(smem.index(s), smem.index(s).permute((1, 0)), acc)
        mbarrier.arrive(empty.index(s), count=1)
    return (acc, n)


@gluon.jit
def specialized(desc, out_ptr, n, SLOTS: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [SLOTS, 64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    arguments = (desc, out_ptr, n, smem, full, empty, SLOTS)
    acc, count = gl.warp_specialize([(consume, arguments), (feed, arguments)], [1], [24])
    gl.store(out_ptr + at(0), gl.convert_layout(acc, TILE) + count)


@pytest.mark.parametrize("tiles", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("slots", [1, 3])
def test_a_ring_between_partitions(tiles, slots):
    x, out = matrix(64 * max(tiles, 1)), torch.zeros(64, 64)
    with emulated(schedules=6):
        specialized[(1,)](descriptor(x), out, tiles, SLOTS=slots)
    each = x.float().view(-1, 64, 64)[:tiles]
    assert torch.equal(out, (each @ each.mT).sum(0) + tiles)


@gluon.jit
def first_to_write(out_ptr, bar):
    gl.atomic_xchg(out_ptr + gl.arange(0, 128, layout=LINE), gl.full([128], 1, gl.int32, LINE))
    mbarrier.arrive(bar, count=1)


@gluon.jit
def second_to_write(out_ptr, bar):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [1], [0])
    mbarrier.arrive(bar, count=1)
    gl.atomic_xchg(out_ptr + gl.arange(0, 128, layout=layout), gl.full([128], 2, gl.int32, layout))


@gluon.jit
def racing_writers(out_ptr):
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=2)
    gl.warp_specialize([(first_to_write, (out_ptr, bar)), (second_to_write, (out_ptr, bar))], [1], [24])


def test_results_that_depend_on_the_schedule_are_an_error():
    out = torch.zeros(128, dtype=torch.int32)
    with emulated(schedules=12), pytest.raises(EmulationError, match="depend on the order in which the partitions run"):
        racing_writers[(1,)](out)


@gluon.jit
def adds_once(desc, out_ptr, n, smem, full, empty, SLOTS: gl.constexpr):
    gl.atomic_add(out_ptr + gl.arange(0, 128, layout=LINE), gl.full([128], 1.0, gl.float32, LINE))


@gluon.jit
def counts(desc, out_ptr):
    gl.atomic_add(out_ptr, 1.0)
    gl.warp_specialize(
        [(adds_once, (desc, out_ptr, 0, 0, 0, 0, 1)), (adds_once, (desc, out_ptr, 0, 0, 0, 0, 1))], [4], [24]
    )


def test_memory_is_put_back_between_schedules():
    out = torch.zeros(128)
    with emulated(schedules=4):
        counts[(6,)](out, out)
    assert out.tolist() == [18.0] + [12.0] * 127


def test_clusters_are_not_emulated():
    with emulated(), pytest.raises(NotEmulated, match="clusters of several CTAs"):
        counts[(1,)](torch.zeros(128), torch.zeros(128), num_ctas=2)


@pytest.fixture
def example(monkeypatch):
    """Loads an example, with the names of TMA copies that Triton 3.6 has."""
    monkeypatch.setattr(tma, "async_copy_global_to_shared", LOAD)
    monkeypatch.setattr(tma, "async_copy_shared_to_global", STORE)

    def load(name):
        path = EXAMPLES / f"{name}.py"
        if not path.is_file():
            pytest.skip(f"there is no {path}")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


def _matrices(m, n, k):
    gen = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-2, 3, shape, generator=gen).bfloat16() for shape in ((m, k), (k, n)))
    return a, b, torch.zeros(m, n, dtype=torch.bfloat16)


@pytest.mark.parametrize("kernel", ["matmul_tma", "matmul_ws"])
def test_an_upgraded_matmul(example, kernel):
    upgraded = example("upgraded")
    m, n, k = 192, 128, 320
    a, b, c = _matrices(m, n, k)
    operands = [upgraded.desc(x, [64, 64]) for x in (a, b, c)]
    with emulated():
        if kernel == "matmul_tma":
            upgraded.matmul_tma[(4,)](*operands, m, n, k, 4, 4, True, num_warps=4)
        else:
            example("warp_specialized").matmul_ws[(4,)](*operands, m, n, k, 4, 3, 40, num_warps=4)
    assert torch.equal(c, (a.float() @ b.float()).bfloat16())


def test_an_upgraded_norm(example):
    upgraded = example("upgraded")
    gen = torch.Generator().manual_seed(2)
    x, w = torch.randn(3, 504, generator=gen).bfloat16(), torch.randn(504, generator=gen).bfloat16()
    out = torch.zeros_like(x)
    with emulated():
        upgraded.rmsnorm_tma[(3,)](upgraded.desc(x, [1, 512]), w, out, 504, 504, 1e-6, 8, num_warps=4)
    exact = x.double() * torch.rsqrt(x.double().square().mean(1, keepdim=True) + 1e-6) * w.double()
    torch.testing.assert_close(out.double(), exact, rtol=1e-2, atol=1e-3)


def test_an_upgraded_attention(example):
    upgraded = example("upgraded")
    gen = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2 * 192, 64, generator=gen).bfloat16() for _ in range(3))
    out = torch.zeros_like(q)
    operands = [upgraded.desc(x, [64, 64]) for x in (q, k, v, out)]
    with emulated():
        upgraded.attn_tma[(3, 2)](*operands, 0.125, 192, 2, num_warps=4)
    q, k, v = (x.double().view(2, 192, 64) for x in (q, k, v))
    exact = torch.softmax(q @ k.mT * 0.125, -1) @ v
    torch.testing.assert_close(out.double().view(2, 192, 64), exact, rtol=2e-2, atol=5e-3)
