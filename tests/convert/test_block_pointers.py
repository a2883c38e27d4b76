"""Block pointers: the port against Triton's own where it still has them, and against torch everywhere."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import triton

from tests.conversions import conversion
from tests.convert import block_pointer_kernels
from tritonport.convert import Conversion, ConvertOptions
from tritonport.rules_data import version_key
from tritonport.verify.emulate import emulated

VERSION = ".".join(triton.__version__.split(".")[:2])
SOURCE = Path(block_pointer_kernels.__file__)
HAS_BLOCK_POINTERS = version_key(VERSION) < (3, 8)
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
PARAMETERS = "x, y, T, D, BT: tl.constexpr, BD: tl.constexpr"
MADE = "p = tl.make_block_ptr(x, (T,), (1,), (0,), (BT,), (0,))\n"


def convert(text: str, target: str = "sm_90") -> Conversion:
    return conversion(text, ConvertOptions(triton=VERSION, target=target))


def source(body: str) -> str:
    return HEAD + f"def kernel({PARAMETERS}):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def kernel(body: str) -> Conversion:
    return convert(source(body))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    conversion = convert(SOURCE.read_text())
    assert conversion.diagnostics == ()
    assert {outcome.status for outcome in conversion.kernels} == {"converted"}
    assert "make_block_ptr" not in conversion.text and "boundary_check" not in conversion.text
    path = tmp_path_factory.mktemp("port") / "block_pointer_port.py"
    path.write_text(conversion.text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(
    port: ModuleType,
    name: str,
    x: torch.Tensor,
    y: torch.Tensor,
    *args: Any,
    grid: tuple[int, ...] = (1,),
    **constants: Any,
) -> torch.Tensor:
    """What the port stores; the same, bit for bit, as the original where this Triton can run that."""
    ported = y.clone()
    with emulated():
        getattr(port, name)[grid](x, ported, *args, **constants)
    if HAS_BLOCK_POINTERS:
        original = y.clone()
        with emulated():
            getattr(block_pointer_kernels, name)[grid](x, original, *args, **constants)
        assert torch.equal(original.view(torch.uint8), ported.view(torch.uint8))
    return ported


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_tile_beyond_both_edges(port: ModuleType, dtype: torch.dtype) -> None:
    x, y = numbers(37, 45, dtype=dtype), torch.full((37, 45), -7, dtype=dtype)
    found = run(port, "scale_tile", x, y, 37, 45, grid=(3, 2), BT=16, BD=32)
    assert torch.equal(found, x * 2)


def test_offsets_go_down(port: ModuleType) -> None:
    x, y = numbers(48, 20), torch.full((16, 20), -7.0)
    found = run(port, "reverse_sum", x, y, 48, 20, BT=16, BD=32)
    assert torch.equal(found, (x[32:] * 0.5 + x[16:32]) * 0.5 + x[:16])


@pytest.mark.parametrize("rows", [True, False])
def test_strides_that_differ_between_two_places(port: ModuleType, rows: bool) -> None:
    x = numbers(16, 20)
    memory = x if rows else x.t().contiguous()
    found = run(port, "two_layouts", memory, torch.full((16, 20), -7.0), 16, 20, ROWS=rows, BT=16, BD=16)
    assert torch.equal(found, x + 1)


def test_made_again_in_the_loop(port: ModuleType) -> None:
    x = numbers(70)
    assert torch.equal(run(port, "remade_in_loop", x, torch.zeros(70), 70, 1, BT=32, BD=1), x)


def test_padding(port: ModuleType) -> None:
    x = numbers(20)
    nan = run(port, "padded", x, torch.zeros(32), 20, BT=32)
    assert torch.equal(nan[:20], x) and bool(nan[20:].isnan().all())
    zero = run(port, "before_start", x, torch.full((32,), -7.0), 20, BT=32)
    assert torch.equal(zero, torch.cat([torch.zeros(3), x, torch.zeros(9)]))


def test_three_dimensions(port: ModuleType) -> None:
    x = numbers(3, 5, 21)
    found = run(port, "cube", x, torch.zeros(3, 5), 3, 5, 21, BA=4, BB=8, BC=16)
    torch.testing.assert_close(found, x.sum(2))


def test_a_pointer_that_starts_from_another(port: ModuleType) -> None:
    x = numbers(70)
    found = run(port, "ahead", x, torch.zeros(70), 70, BT=32)
    assert torch.equal(found, x - torch.cat([x[32:], torch.zeros(32)]))


def test_helpers_take_block_pointers(port: ModuleType) -> None:
    x = numbers(20, 40)
    found = run(port, "with_helpers", x, torch.zeros(20, 16), 20, 40, grid=(2,), BT=16, BD=16)
    wide = torch.nn.functional.pad(x, (0, 8)).reshape(20, 3, 16)
    torch.testing.assert_close(found, wide[:, 0] * 3 + wide.sum(1))


def test_parts_keep_the_value_they_had(port: ModuleType) -> None:
    x = numbers(16, 12)
    assert torch.equal(run(port, "captured", x, torch.zeros(16, 12), 16, 12, BT=16, BD=16), x + 1)


def test_a_scalar_is_stored(port: ModuleType) -> None:
    x = numbers(10)
    found = run(port, "both_kinds", x, torch.zeros(16), 10, BT=16)
    assert torch.equal(found, torch.cat([x[:1], torch.full((9,), 7.0), torch.ones(6)]))


@pytest.mark.parametrize("flat", [True, False])
def test_block_shapes_that_a_flag_decides(port: ModuleType, flat: bool) -> None:
    x = numbers(16, 12)
    found = run(port, "two_shapes", x, torch.zeros(1), 16, 12, FLAT=flat, BT=16, BD=16)
    torch.testing.assert_close(found[0], x.sum())


def test_offsets_are_64_bits_wide() -> None:
    text = kernel(
        "p = tl.make_block_ptr(x, (T, D), (D, 1), (0, 0), (BT, BD), (1, 0))\n"
        "for _ in range(0, T, BT):\n"
        "    tl.store(p, tl.load(p) + 1)\n"
        "    p = tl.advance(p, (BT, 0))"
    ).text
    assert "p_row = gl.cast(0, gl.int64)" in text
    assert ".to(gl.int64) + p_row" in text
    assert "p_row += BT" in text
    # No boundary check: no mask.
    assert "mask" not in text


def test_contiguity_comes_from_the_strides_alone() -> None:
    for strides, order, wanted in (("(D, 1)", "(0, 1)", "[1, 0]"), ("(1, T)", "(1, 0)", "[0, 1]")):
        made = f"p = tl.make_block_ptr(x, (T, D), {strides}, (0, 0), (BT, BD), {order})"
        assert f"{wanted}, gl.num_warps())" in kernel(f"{made}\ntl.store(p, tl.load(p))").text


def test_other_arguments_stay() -> None:
    text = kernel(
        MADE + 'b = tl.load(p, boundary_check=(0,), eviction_policy="evict_first", cache_modifier=".cg")\n'
        'tl.store(p, b, boundary_check=(0,), eviction_policy="evict_last")'
    ).text
    assert 'gl.load(x + p_offs, mask=p_offs < T, eviction_policy="evict_first", cache_modifier=".cg")' in text
    assert 'gl.store(x + p_offs, b, mask=p_offs < T, eviction_policy="evict_last")' in text


@pytest.mark.parametrize(
    ("spelling", "mask"), [("0", False), ("(0,)", True), ("[0]", True), ("()", False), ("None", False)]
)
def test_a_bare_zero_checks_nothing(spelling: str, mask: bool) -> None:
    """`if boundary_check:` in Triton's own front end."""
    text = kernel(MADE + f"tl.store(p, 1.0, boundary_check={spelling})").text
    assert ("mask=p_offs < T" in text) is mask


def test_positional_arguments_are_those_of_triton_3_6() -> None:
    text = kernel(MADE + 'tl.store(p, tl.load(p, None, None, (0,), "zero"), None, (0,))').text
    assert "gl.store(x + p_offs, gl.load(x + p_offs, mask=p_offs < T, other=0), mask=p_offs < T)" in text


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (MADE + "q = (p, 1)", "TP110", "the block pointer p is used where it cannot be followed"),
        (MADE + "return p", "TP110", "the block pointer p is returned where it cannot be followed"),
        (MADE + "unknown(p)", "TP110", "the block pointer p is passed to unknown"),
        (MADE + "tl.store(p, tl.load(p, mask=T > 0))", "TP103", "mask= of a load through a block pointer"),
        (MADE + "tl.store(p, tl.load(p, boundary_check=(1,)))", "TP201", "does not name dimensions"),
        ("p = x\nif T > 1:\n    " + MADE + "b = tl.load(p)", "TP110", "p is a block pointer on some paths alone"),
        ("shape = (T,)\np = tl.make_block_ptr(x, shape, (1,), (0,), (BT,), (0,))", "TP110", "shape=shape"),
        ("p = tl.advance(x, (1,))", "TP110", "tl.advance(x, (1,)) cannot be followed"),
        (
            MADE + "if T > 1:\n    p = tl.make_block_ptr(x, (T,), (1,), (0,), (BD,), (0,))\nb = tl.load(p)",
            "TP201",
            "the bounds of arange are not compile-time expressions of this file",
        ),
    ],
)
def test_what_cannot_be_followed_is_left(body: str, code: str, message: str) -> None:
    conversion = kernel(body)
    (found,) = conversion.diagnostics
    assert found.code == code and message in found.message
    assert [outcome.status for outcome in conversion.kernels] == ["left"]
    assert conversion.text == source(body)
    # Line and column are those of the author's text.
    assert found.line >= 6 and found.column >= 5


def test_a_kernel_left_for_another_reason_keeps_its_block_pointers() -> None:
    body = MADE + "b = tl.load(p, boundary_check=(0,))\ntl.store(p, tl.unknown_operation(b), boundary_check=(0,))"
    conversion = kernel(body)
    (found,) = conversion.diagnostics
    assert (found.code, found.line, found.column) == ("TP101", 9, 17)
    assert conversion.text == source(body)


def test_comments_stay() -> None:
    text = kernel(
        "# Where the row begins.\np = tl.make_block_ptr(x, (T,), (1,), (0,), (BT,), (0,))  # one row\n"
        "# Read it.\nb = tl.load(p, boundary_check=(0,))  # all of it\ntl.store(p, b, boundary_check=(0,))"
    ).text
    for comment in ("# Where the row begins.", "# one row", "# Read it.", "# all of it"):
        assert text.count(comment) == 1
