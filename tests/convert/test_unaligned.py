"""Stores of rows that may start anywhere, beside accesses that are always aligned."""

from pathlib import Path
from typing import Any

import pytest

from tests.convert.kernels import (
    VERSION,
    assert_same_numbers,
    decided_by,
    kernel_text,
    module_of,
    ported,
)
from tritonport.verify.compile import Resources, compare, compile_kernel

PARAMETERS = "x_ptr, w_ptr, out_ptr, stride, n, BLOCK: tl.constexpr"
SCALED = """
row = tl.program_id(0)
cols = tl.arange(0, BLOCK)
mask = cols < n
x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)
w = tl.load(w_ptr + cols, mask=mask, other=0.0)
tl.store(out_ptr + row * stride + cols, x * w / tl.sum(x, axis=0), mask=mask)
"""


def test_the_store_has_a_layout_of_its_own() -> None:
    text = ported(kernel_text(SCALED, PARAMETERS))
    body = text[text.index("    layout: gl.constexpr") :]
    assert (
        body
        == """\
    layout: gl.constexpr = coalesced([BLOCK], element_bits(x_ptr, w_ptr, out_ptr), [0], gl.num_warps())
    store_layout: gl.constexpr = layout if ALIGNED else coalesced([BLOCK], 128, [0], gl.num_warps())

    row = gl.program_id(0)
    cols = gl.arange(0, BLOCK, layout=layout)
    cols_store = gl.arange(0, BLOCK, layout=store_layout)
    mask = cols < n
    mask_store = cols_store < n
    x = gl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)
    w = gl.load(w_ptr + cols, mask=mask, other=0.0)
    gl.store(
        out_ptr + row * stride + cols_store, gl.convert_layout(x * w / gl.sum(x, axis=0), store_layout), mask=mask_store
    )
"""
    )


def assert_stores_alike(text: str, folder: Path, aligned: bool) -> None:
    """The port has the conversions and the stores of the original, compiled for rows that are aligned or are not."""
    sides = []
    for stem, source in (("original", text), ("port", ported(text, VERSION))):
        kernel = module_of(source, folder, stem).kernel
        flags = dict.fromkeys(decided_by(kernel), aligned)
        pointers = dict.fromkeys(("x_ptr", "w_ptr", "out_ptr"), "*bf16")
        entry: dict[str, Any] = {
            "fn": kernel,
            "signature": {**pointers, "stride": "i32", "n": "i32", "BLOCK": "constexpr"}
            | dict.fromkeys(flags, "constexpr"),
            "constexprs": {"BLOCK": 2048, **flags},
            "attrs": {(i,): [["tt.divisibility", 16]] for i in (0, 1, 2, *((3, 4) if aligned else ()))},
        }
        result = compile_kernel(entry, "sm_90")
        assert isinstance(result, Resources), result
        sides.append(result)
    original, port = sides
    assert not [bar.name for bar in compare(original, port) if not bar.passed and bar.name != "registers"]
    assert port.conversions == original.conversions == (0 if aligned else 1)
    assert port.store_widths == original.store_widths


@pytest.mark.parametrize("aligned", [True, False])
def test_it_compiles_like_the_original(tmp_path: Path, aligned: bool) -> None:
    assert_stores_alike(kernel_text(SCALED, PARAMETERS), tmp_path, aligned)


def test_the_numbers_are_those_of_the_original(tmp_path: Path) -> None:
    assert_same_numbers(kernel_text(SCALED, PARAMETERS), tmp_path)


@pytest.mark.parametrize("product", ["rows[:, None] * stride", "stride * rows[:, None]"])
def test_what_a_row_is_multiplied_with_says_where_rows_lie(product: str) -> None:
    body = f"""
rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
cols = tl.arange(0, BLOCK)
tl.store(out_ptr + {product} + cols[None, :], tl.full([BLOCK, BLOCK], 1.0, tl.float32))
"""
    text = ported(kernel_text(body, "out_ptr, stride, BLOCK: tl.constexpr"))
    assert '"ALIGNED": lambda args: multiples_of_16(args, "stride")' in text
    assert "element_bits(out_ptr) if ALIGNED else 128" in text


def test_a_pointer_that_is_assigned_to_itself_is_moved_once(tmp_path: Path) -> None:
    # The copy that keeps the name comes last: the one for the store reads the argument too.
    body = """
row = tl.program_id(0)
cols = tl.arange(0, BLOCK)
w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
out_ptr = out_ptr + row * stride + cols
old = tl.load(out_ptr, mask=cols < n, other=1.0)
tl.store(out_ptr, tl.where(old == old, old, 1.0) * w, mask=cols < n)
"""
    text = kernel_text(body, "w_ptr, out_ptr, stride, n, BLOCK: tl.constexpr")
    port = ported(text)
    assert port.index("out_ptr_store = out_ptr + row") < port.index("    out_ptr = out_ptr + row")
    assert_same_numbers(text, tmp_path)


def test_loops_that_use_one_name_each_have_their_own(tmp_path: Path) -> None:
    # What a loop's body binds is not there after it: the first loop needs no index for the store of the second.
    body = """
row = tl.program_id(0)
total = tl.zeros([BLOCK], tl.float32)
for start in range(0, n, BLOCK):
    cols = start + tl.arange(0, BLOCK)
    total += tl.load(x_ptr + row * stride + cols, mask=cols < n, other=0.0)
mean = tl.sum(total, axis=0) / 64
for start in range(0, n, BLOCK):
    cols = start + tl.arange(0, BLOCK)
    w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
    tl.store(out_ptr + row * stride + cols, w * mean, mask=cols < n)
"""
    text = kernel_text(body, PARAMETERS)
    assert ported(text).count("cols_store = ") == 1
    assert_same_numbers(text, tmp_path)


def test_a_sum_stored_as_it_is_has_a_layout_for_its_type() -> None:
    body = """
rows = tl.arange(0, BLOCK)
offs = rows[:, None] * BLOCK + rows[None, :]
x = tl.load(x_ptr + offs)
acc = tl.dot(x, x)
tl.store(half_ptr + offs, acc.to(half_ptr.dtype.element_ty))
tl.store(out_ptr + offs, acc)
"""
    text = ported(kernel_text(body, "x_ptr, half_ptr, out_ptr, BLOCK: tl.constexpr"))
    assert "out_layout: gl.constexpr = coalesced([BLOCK, BLOCK], element_bits(out_ptr), [1, 0], gl.num_warps())" in text
    assert "element_bits(x_ptr, half_ptr)" in text
    assert "gl.convert_layout(acc.to(out_ptr.dtype.element_ty), out_layout)" in text


HELPERS = """
import triton
import triton.language as tl


@triton.jit
def store_scaled(out_ptr, cols, mask, x, w):
    tl.store(out_ptr + cols, x * w / tl.sum(x, axis=0), mask=mask)


@triton.jit
def passed_on(out_ptr, cols, mask, x, w):
    store_scaled(out_ptr, cols, mask, x, w)


@triton.jit
def kernel(x_ptr, w_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    HELPER(out_ptr + row * stride, cols, mask, x, w)
"""


@pytest.mark.parametrize("helper", ["store_scaled", "passed_on"])
def test_a_helper_is_given_the_addresses_of_its_store(tmp_path: Path, helper: str) -> None:
    """Pointers and masks are arithmetic of the callers: they write it once more, and only what is stored moves."""
    text = HELPERS.replace("HELPER", helper)
    port = ported(text, VERSION)
    assert "gl.store(out_ptr + cols_store, " in port
    assert "mask=mask_store)" in port
    assert port.count("gl.convert_layout(") == 1
    assert "    mask_store = cols_store < n" in port
    for aligned in (True, False):
        assert_stores_alike(text, tmp_path, aligned)
    assert_same_numbers(text, tmp_path)


def test_an_argument_that_was_read_is_converted_by_the_helper(tmp_path: Path) -> None:
    """What the callers read from memory they would have to read again: the store's mask is moved instead."""
    text = HELPERS.replace(
        "HELPER(out_ptr + row * stride, cols, mask,", "store_scaled(out_ptr + row * stride, cols, x > 0,"
    )
    port = ported(text, VERSION)
    assert "mask=gl.convert_layout(mask, " in port
    assert port.count("gl.load(x_ptr") == 1
    assert_same_numbers(text, tmp_path)
