"""Dots of tiles that a launch may leave out: the layouts of their results do not ask None for its type."""

from pathlib import Path

import pytest
import torch

from tests.convert.kernels import HEAD, VERSION, convert, module_of
from tritonport.verify.compile import compile_kernel
from tritonport.verify.emulate import emulated

KERNEL = """
def kernel(x_ptr, y_ptr, u_ptr, z_ptr):
    rows = tl.arange(0, 64)[:, None]
    cols = tl.arange(0, 64)[None, :]
    inner = tl.arange(0, 32)
    y = tl.load(y_ptr + rows * 64 + cols)
    z = tl.dot(tl.load(x_ptr + rows * 64 + cols), y)
    {test}
        half = tl.load(y_ptr + inner[:, None] * 64 + cols)
        z = z * tl.dot(tl.load(u_ptr + rows * 32 + inner[None, :]), half)
    tl.store(z_ptr + rows * 64 + cols, z)
"""
TESTS = ["if u_ptr is not None:", "if u_ptr:"]


@pytest.fixture(params=TESTS)
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> list[object]:
    source = HEAD + KERNEL.lstrip("\n").replace("{test}", request.param)
    texts = {"original": source, "port": convert(source, VERSION).text}
    return [module_of(text, tmp_path, name).kernel for name, text in texts.items()]


@pytest.mark.parametrize("given", [True, False])
def test_it_compiles_with_the_tile_and_without(sides: list[object], given: bool) -> None:
    signature = dict.fromkeys(("x_ptr", "y_ptr", "u_ptr"), "*fp16") | {"z_ptr": "*fp32"}
    constants = {} if given else {"u_ptr": None}
    spec = dict(signature={name: kind for name, kind in signature.items() if name not in constants}, attrs={})
    original, port = (compile_kernel(dict(fn=side, constexprs=constants, **spec), "sm_90") for side in sides)
    assert port.mma == original.mma
    assert (sum(port.mma.values()) > 4) == given


@pytest.mark.parametrize("given", [True, False])
def test_results_are_those_of_the_original(sides: list[object], given: bool) -> None:
    g = torch.Generator().manual_seed(0)
    x, y = (torch.randint(-4, 5, (64, 64), generator=g).to(torch.float16) for _ in range(2))
    u = torch.randint(-4, 5, (64, 32), generator=g).to(torch.float16) if given else None
    results = []
    for side in sides:
        z = torch.zeros(64, 64)
        with emulated():
            side[(1,)](x, y, u, z)  # type: ignore[index]
        results.append(z)
    assert torch.equal(*results) and results[0].count_nonzero() > 3000
