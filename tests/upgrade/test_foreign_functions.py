"""Functions of other files that a loop calls: whether they may write to memory."""

from pathlib import Path

import pytest

from tritonport.source.module import SourceModule
from tritonport.source.project import Project
from tritonport.upgrade.multibuffer.writes import writes_anything

KERNEL = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from helpers import helper


@gluon.jit
def kernel(x_ptr, n):
    for k in range(n):
        x = helper(x_ptr, k)
"""

HELPERS = """
import triton
import triton.language as tl
from elsewhere import unknown


@triton.jit
def inner(x, k):
    return tl.exp2(x.to(tl.float32)) + min(k, 3)


@triton.jit
def stored(x, k):
    tl.store(x + k, 0)
    return k


@triton.jit
def helper(x, k):
    return {}
"""


@pytest.mark.parametrize(
    ("body", "writes"),
    [
        ("tl.math.exp2(k * 2)", False),
        ("inner(k, k) + 1", False),
        ("stored(x, k)", True),
        ("tl.atomic_add(x + k, 1)", True),
        ("tl.inline_asm_elementwise('', '', [k], tl.int32, False, 1)", True),
        ("unknown(k)", True),
        ("undefined(k)", True),
        ("helper(x, k - 1)", True),
    ],
)
def test_a_function_of_another_file(body: str, writes: bool, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS.format(body), encoding="utf-8")
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL, encoding="utf-8")
    module = SourceModule(KERNEL, str(path), Project())
    (kernel,) = module.kernels
    assert writes_anything(module, kernel.node.body) == writes
