"""A kernel file, its case and its port, as texts for the tests to write to disk and to spoil."""

from pathlib import Path

ORIGINAL = '''"""Scales a vector."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 32, "BLOCK is too small")
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x * factor, mask=mask)


def scale(x, factor):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), factor, BLOCK=128)
    return out
'''

PORT = '''"""Scales a vector."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: gl.constexpr):
    gl.static_assert(BLOCK >= 32, "BLOCK is too small")
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    offs = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = offs < n
    x = gl.load(x_ptr + offs, mask=mask, other=0.0)
    gl.store(out_ptr + offs, x * factor, mask=mask)


def scale(x, factor):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), factor, BLOCK=128)
    return out
'''

CASE = '''"""Case of the vector scaling."""

import torch
from scale import scale, scale_kernel

SIGNATURE = dict(x_ptr="*fp32", out_ptr="*fp32", n="i32", factor="fp32", BLOCK="constexpr")
COMPILE_SPECS = [
    dict(fn=scale_kernel, signature=SIGNATURE, constexprs=dict(BLOCK=128)),
    dict(fn=scale_kernel, signature=SIGNATURE, constexprs=dict(BLOCK=16), expect_error="BLOCK is too small"),
]
TOL = dict(atol=0.0, rtol=0.0)


def make_inputs(device="cuda", seed=0):
    return dict(x=torch.randn(300, generator=torch.Generator().manual_seed(seed)).to(device), factor=0.3)


def launch(x, factor):
    return scale(x, factor)


def reference(x, factor):
    return x * factor
'''


def edited(text: str, *edits: tuple[str, str]) -> str:
    """The text with each old piece, which must be there, replaced by the new one."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def write_project(folder: Path, *, original: str = ORIGINAL, case: str | None = CASE, port: str = PORT) -> Path:
    """Writes `scale.py`, `scale_case.py` (None: not) and `port.py`; returns the first."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scale.py").write_text(original)
    (folder / "port.py").write_text(port)
    if case is not None:
        (folder / "scale_case.py").write_text(case)
    return folder / "scale.py"
