"""Grids, arguments and their specialisation, autotuning, and what is left behind."""

import pytest
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from tritonport.verify.emulate import EmulationError, LaunchRecord, emulated


@triton.jit
def grid_kernel(out_ptr, X: tl.constexpr, Y: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(axis=1), tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out_ptr + at, x + 10 * y + 100 * z)
    tl.static_assert(X == 3)


def test_grids_of_one_to_three_dimensions():
    with emulated() as emulator:
        out = torch.full((24,), -1, dtype=torch.int32)
        grid_kernel[(3, 4, 2)](out, X=3, Y=4)
        assert out.tolist() == [x + 10 * y + 100 * z for z in range(2) for y in range(4) for x in range(3)]
        grid_kernel[lambda meta: (meta["X"], triton.cdiv(meta["Y"], 2))](out, X=3, Y=4)
        assert out[:6].tolist() == [0, 1, 2, 10, 11, 12]
        grid_kernel[[2]](out, X=3, Y=4)
    assert [launch.grid for launch in emulator.launches] == [(3, 4, 2), (3, 2, 1), (2, 1, 1)]
    assert emulator.launches[0] == LaunchRecord("grid_kernel", (3, 4, 2), 4, "triton")


@triton.constexpr_function
def is_constant(value):
    return isinstance(value, int)


@triton.jit
def specialised_kernel(out_ptr, a, b, flag, scale, big):
    tl.store(out_ptr, is_constant(a))
    tl.store(out_ptr + 1, is_constant(b))
    tl.store(out_ptr + 2, a + b)
    tl.static_assert(flag.dtype == tl.int1)
    tl.static_assert(scale.dtype == tl.float32)
    tl.static_assert(big.dtype == tl.int64)
    tl.store(out_ptr + 3, (big >> 40).to(tl.int32) + flag)


@triton.jit(do_not_specialize=["a"])
def unspecialised_kernel(out_ptr, a, b: tl.int64):
    tl.static_assert(a.dtype == tl.int32)
    tl.static_assert(b.dtype == tl.int64)
    tl.store(out_ptr, is_constant(a))
    tl.store(out_ptr + 1, is_constant(b))
    tl.store(out_ptr + 2, a + b)


def test_an_int_equal_to_one_is_a_constant():
    out = torch.empty(4, dtype=torch.int32)
    with emulated():
        specialised_kernel[(1,)](out, 1, 2, True, 0.5, 3 << 40)
        assert out.tolist() == [1, 0, 3, 4]
        specialised_kernel[(1,)](out, 16, 1, False, 1.0, 3 << 40)
        assert out.tolist() == [0, 1, 17, 3]
        unspecialised_kernel[(1,)](out, 1, 1)
        assert out.tolist()[:3] == [0, 0, 2]


@triton.jit
def optional_kernel(x_ptr, bias_ptr, out_ptr, n, HAS: tl.constexpr = False, N: tl.constexpr = 8):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + i, mask=i < n, other=0.0)
    if HAS:
        x = -x
    tl.store(out_ptr + i, x, mask=i < n)


def test_none_and_defaults():
    x, out = torch.arange(5.0), torch.zeros(5)
    with emulated():
        optional_kernel[(1,)](x, None, out, 5)
        assert torch.equal(out, x)
        optional_kernel[(1,)](x, x, out, 5, HAS=True, num_warps=2, num_stages=1)
        assert torch.equal(out, -2 * x)
        optional_kernel.run(x, x, out, 5, N=8, grid=(1,), warmup=False)
        assert torch.equal(out, 2 * x)


def test_a_warmed_up_kernel_is_launched_with_what_was_compiled_in():
    x, out = torch.arange(5.0), torch.zeros(5)
    with emulated() as emulator:
        compiled = optional_kernel.warmup(torch.float32, None, torch.float32, 5, HAS=True, num_warps=2, grid=(1,))
        assert emulator.launches == []
        compiled._init_handles()
        assert 65536 // (compiled.n_regs * 32 * compiled.metadata.num_warps) == 32
        assert (compiled.n_spills, compiled.metadata.shared, compiled.metadata.name) == (0, 0, "optional_kernel")
        compiled[(1, 1, 1)](x, None, out, 5, False, 8)
        assert torch.equal(out, -x)
        assert [(record.kernel, record.num_warps) for record in emulator.launches] == [("optional_kernel", 2)]
        with pytest.raises(TypeError, match="takes the 6 arguments of the function, compile-time ones too, not 4"):
            compiled[(1, 1, 1)](x, None, out, 5)


def test_launches_that_cannot_be():
    x, out = torch.arange(5.0), torch.zeros(5)
    with emulated():
        with pytest.raises(KeyError, match="num_warp was specified but unrecognised"):
            optional_kernel[(1,)](x, None, out, 5, num_warp=8)
        with pytest.raises(TypeError, match="missing a required argument"):
            optional_kernel[(1,)](x, None, out)
        with pytest.raises(EmulationError, match="on meta: an emulated launch takes tensors of the CPU"):
            optional_kernel[(1,)](torch.empty(5, device="meta"), None, out, 5)
        with pytest.raises(EmulationError, match="argument x_ptr"):
            optional_kernel[(1,)](object(), None, out, 5)
    with pytest.raises(ValueError, match="unknown target 'gfx942'"), emulated(target="gfx942"):
        pass


def keep_large(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] >= 8]


CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((4, 1), (8, 2), (16, 8))]


@triton.autotune(
    configs=CONFIGS, key=["n"], reset_to_zero=["out_ptr"], prune_configs_by={"early_config_prune": keep_large}
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i) if EVEN else tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr + i, x, mask=i < n)


def test_autotuned_kernels_take_the_first_configuration_that_pruning_leaves():
    x, out = torch.arange(20.0), torch.full((20,), 5.0)
    with emulated() as emulator:
        tuned_kernel[lambda meta: (triton.cdiv(20, meta["BLOCK"]),)](x, out, 20)
    assert torch.equal(out, x)
    assert emulator.launches == [LaunchRecord("tuned_kernel", (3, 1, 1), 2, "triton")]


def test_a_configuration_can_be_picked():
    x, out = torch.arange(32.0), torch.zeros(32)
    seen = []

    def last(name, configs):
        seen.append((name, len(configs)))
        return configs[-1]

    with emulated(pick_config=last) as emulator:
        tuned_kernel[lambda meta: (triton.cdiv(32, meta["BLOCK"]),)](x, out, 32)
    assert torch.equal(out, x)
    assert seen == [("tuned_kernel", 2)]
    assert emulator.launches == [LaunchRecord("tuned_kernel", (2, 1, 1), 8, "triton")]


def test_a_config_with_a_hook():
    order = []

    @triton.autotune(configs=[triton.Config({"N": 8}, pre_hook=lambda args: order.append(args["n"]))], key=[])
    @triton.jit
    def hooked_kernel(out_ptr, n, N: tl.constexpr):
        tl.store(out_ptr + tl.arange(0, N), n)

    out = torch.zeros(8)
    with emulated():
        hooked_kernel[(1,)](out, 3)
    assert out.tolist() == [3.0] * 8
    assert order == [3]


@gluon.jit
def warps_kernel(out_ptr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    i = gl.arange(0, 32, layout=layout)
    gl.store(out_ptr + i, gl.full([32], gl.num_warps(), gl.int32, layout=layout))


def test_num_warps_answers_the_launch():
    out = torch.zeros(32, dtype=torch.int32)
    with emulated() as emulator:
        warps_kernel[(1,)](out)
        assert out.tolist() == [4] * 32
        warps_kernel[(1,)](out, num_warps=8)
        assert out.tolist() == [8] * 32
    assert [launch.dialect for launch in emulator.launches] == ["gluon", "gluon"]


def test_host_code_finds_a_gpu_and_it_is_gone_afterwards():
    before = (JITFunction.run, Autotuner.run, driver._active)
    scope = dict(globals())
    with emulated(target="sm_80"):
        target = driver.active.get_current_target()
        assert (target.backend, target.arch) == ("cuda", 80)
        assert driver.active.get_active_torch_device() == torch.device("cpu")
        properties = driver.active.utils.get_device_properties(driver.active.get_current_device())
        assert properties["multiprocessor_count"] > 0
    assert (JITFunction.run, Autotuner.run, driver._active) == before
    with pytest.raises(EmulationError), emulated():
        grid_kernel[(1,)](torch.empty(1, dtype=torch.int32), X=2, Y=1)
    assert (JITFunction.run, Autotuner.run, driver._active) == before
    assert {name: value for name, value in globals().items() if not name.startswith("@py")}.keys() == {
        name for name in scope if not name.startswith("@py")
    }


def test_blocks_nest():
    out = torch.zeros(24, dtype=torch.int32)
    with emulated() as outer:
        with emulated() as inner:
            grid_kernel[(1,)](out, X=3, Y=1)
        grid_kernel[(2,)](out, X=3, Y=1)
    assert len(inner.launches) == 1
    assert [launch.grid for launch in outer.launches] == [(2, 1, 1)]
