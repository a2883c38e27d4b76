"""What jit functions do besides computing: in the file, in other files, through any number of calls."""

from pathlib import Path

import libcst as cst
import pytest

from tritonport.analysis.effects import (
    ASKS,
    ATOMICS,
    LOADS,
    ON_CHIP,
    PRINTS,
    SPELLED,
    STORES,
    UNKNOWN,
    acting,
    asks_for_more,
    effects_in,
    makes_tiles,
)
from tritonport.source.module import SourceModule
from tritonport.source.project import Project
from tritonport.source.walk import walk
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
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from elsewhere import unknown


@gluon.constexpr_function
def size(k):
    return k


@triton.jit
def inner(x, k):
    return tl.exp2(x.to(tl.float32)) + min(k, 3)


@triton.jit
def stored(x, k):
    tl.store(x + k, 0)
    return k


@triton.jit
def far(x, k):
    return stored(x, k)


@triton.jit
def helper(x, k):
    return {}
"""
NOTHING = frozenset[str]()
BODIES = {
    "tl.math.exp2(k * 2)": NOTHING,
    "inner(k, k) + 1": NOTHING,
    "helper(x, k - 1)": NOTHING,  # recursion, of which no Triton makes anything
    "size(k)": NOTHING,
    "tl.load(x + k)": {LOADS},
    "x.load([k])": {LOADS},
    "stored(x, k)": {STORES},
    "far(x, k)": {STORES},
    "x.store([k], k)": {STORES},
    "x.store(k)": {ON_CHIP},
    "tl.atomic_add(x + k, 1)": {ATOMICS},
    "tl.extra.cuda.globaltimer()": {ASKS},
    "tl.inline_asm_elementwise('', '', [k], tl.int32, False, 1)": {ASKS, SPELLED},
    "tl.inline_asm_elementwise('', '', [k], tl.int32, True, 1)": {ASKS},
    "gl.inline_asm_elementwise('', '', [k], gl.int32, is_pure=True, pack=1)": {ASKS},
    "tl.device_print('k', k)": {PRINTS},
    "gl.allocate_shared_memory(gl.int64, [k], k)": {ON_CHIP},
    "mbarrier.wait(x, k)": {ON_CHIP},
    "tma.async_copy_shared_to_global(x, [k], k)": {ON_CHIP, STORES},
    "unknown(k)": {UNKNOWN},
    "undefined(k)": {UNKNOWN},
    "x[k](k)": {UNKNOWN},
}


def module_of(body: str, folder: Path) -> SourceModule:
    (folder / "helpers.py").write_text(HELPERS.format(body), encoding="utf-8")
    return SourceModule(KERNEL, str(folder / "kernel.py"), Project())


@pytest.mark.parametrize("body", BODIES)
def test_what_a_function_of_another_file_does(body: str, tmp_path: Path) -> None:
    module = module_of(body, tmp_path)
    (kernel,) = module.kernels
    found = BODIES[body]
    assert effects_in(module, kernel.node.body) == found
    assert acting(module, kernel.node.body) == ("helper" if found else None)
    assert writes_anything(module, kernel.node.body) == bool(found)
    call = next(one for one in walk(kernel.node.body) if isinstance(one, cst.Call) and one.args[1:])
    assert asks_for_more(module, call) == bool(found & {LOADS, STORES, ATOMICS, ASKS})


@pytest.mark.parametrize(("body", "makes"), [("tl.arange(0, 4) + k", True), ("inner(x, k)", False)])
def test_a_function_that_makes_tiles(body: str, makes: bool, tmp_path: Path) -> None:
    assert makes_tiles(module_of(body, tmp_path), "helper") == makes
