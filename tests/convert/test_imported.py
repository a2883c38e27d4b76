"""Helpers of other files: called as they are, or copied into the output."""

import ast
from pathlib import Path

import pytest

from tritonport.convert import Conversion, convert_text

HEAD = "import triton\nimport triton.language as tl\n"
HELPERS = f"""{HEAD}
from triton.language.extra import libdevice

SCALE = tl.constexpr(2.0)

@triton.jit
def act(x):
    return libdevice.tanh(x) * SCALE

@triton.jit
def ramp(x, N: tl.constexpr):
    return act(x) + tl.arange(0, N)

@triton.jit
def scaled(x, N: tl.constexpr):
    return tl.full((N,), SCALE, tl.float32) * x + tl.arange(0, N)

@triton.jit
def larger(a, b):
    return tl.maximum(a, b)

@triton.jit
def promote(x):
    return x + tl.zeros((1,), tl.int1)

@triton.jit
def is_floating(x):
    return promote(x).dtype.is_floating()

@triton.jit
def larger_or_nan(a, b):
    mask = a > b
    if is_floating(a):
        mask |= a != a
    return tl.where(mask, a, b)
"""


def converted(folder: Path, imports: str, expression: str, helpers: str = HELPERS) -> Conversion:
    (folder / "helpers.py").write_text(helpers)
    text = f"""{HEAD}{imports}

@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, {expression})
"""
    result = convert_text(text, path=str(folder / "use.py"))
    ast.parse(result.text)
    return result


def codes(result: Conversion) -> list[str]:
    return [found.code for found in result.diagnostics]


def functions(result: Conversion) -> list[str]:
    return [node.name for node in ast.parse(result.text).body if isinstance(node, ast.FunctionDef)]


def test_a_helper_that_only_computes_stays_where_it_is(tmp_path: Path) -> None:
    result = converted(tmp_path, "from helpers import act", "act(x) + act(-x)")
    assert [kernel.status for kernel in result.kernels] == ["converted"]
    assert "act(x) + act(-x)" in result.text
    assert "from helpers import act\n" in result.text
    assert "act" not in functions(result)
    assert [(found.code, found.line) for found in result.diagnostics] == [("TP104", 9)]


def test_a_helper_that_makes_a_tensor_is_copied(tmp_path: Path) -> None:
    result = converted(tmp_path, "from helpers import ramp", "ramp(x, BLOCK)")
    assert "# From helpers.\n@gluon.jit\ndef ramp(x, N: gl.constexpr):" in result.text
    assert "return act(x) + gl.arange(0, N, layout=layout)" in result.text
    assert "from helpers import act\n" in result.text
    assert "import ramp" not in result.text


def test_a_copy_brings_its_constants(tmp_path: Path) -> None:
    result = converted(tmp_path, "import helpers", "helpers.scaled(x, BLOCK)")
    assert "from helpers import SCALE\n" in result.text
    assert "scaled(x, BLOCK" in result.text
    assert "helpers.scaled" not in result.text


def test_a_copy_does_not_take_a_name_that_is_used(tmp_path: Path) -> None:
    imports = "from helpers import ramp\nprint(ramp)"
    result = converted(tmp_path, imports, "ramp(x, BLOCK)")
    assert "ramp_gluon" in functions(result)
    assert "from helpers import ramp\n" in result.text


def test_a_combine_function_of_another_file(tmp_path: Path) -> None:
    result = converted(tmp_path, "from helpers import larger", "x - tl.reduce(x, 0, larger)")
    assert "gl.reduce(x, 0, larger)" in result.text
    assert "larger" not in functions(result)


def test_a_question_about_a_dtype_is_answered_at_compile_time(tmp_path: Path) -> None:
    result = converted(tmp_path, "from helpers import larger_or_nan", "x - tl.reduce(x, 0, larger_or_nan)")
    assert "    if a.dtype.is_floating():\n" in result.text
    assert functions(result)[-2:] == ["larger_or_nan", "kernel"]


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ("    @triton.jit\n    def f(x): return tl.exp(x)", False),
        ("    f = tl.exp", False),
        ("    f = None", False),
        ("    @triton.jit\n    def f(x): return None", True),
        ("    @triton.jit\n    def f(x): return x + tl.arange(0, 8)", True),
    ],
)
def test_a_helper_with_two_definitions(tmp_path: Path, choice: str, left: bool) -> None:
    helpers = f"{HEAD}\nif tl.FAST:\n    @triton.jit\n    def f(x): return -x\nelse:\n{choice}\n"
    result = converted(tmp_path, "from helpers import f", "f(x)", helpers)
    assert ("TP102" in codes(result)) is left
    assert [kernel.status for kernel in result.kernels] == ["left" if left else "converted"]


CHOSEN = f"""{HEAD}
import os
from triton.language.extra import libdevice


def fast_or_exact():
    \"\"\"What the environment asks for.\"\"\"
    return libdevice.fast_expf if os.environ.get("FAST") == "1" else tl.exp


exp = fast_or_exact()

if hasattr(tl, "gather"):
    gather = tl.gather
    make_descriptor = tl.make_tensor_descriptor
elif hasattr(tl, "_experimental_make_tensor_descriptor"):
    make_descriptor = tl._experimental_make_tensor_descriptor
else:

    @triton.jit
    def gather(src, index, axis, _builder=None):
        \"\"\"Lets the kernels be defined.\"\"\"
        return None

    @triton.jit
    def make_descriptor(base, shape, strides, block_shape, _builder=None):
        return None
"""


def test_a_function_that_a_function_chooses(tmp_path: Path) -> None:
    conversion = converted(tmp_path, "from helpers import exp\n", "exp(x)", CHOSEN)
    assert "gl.store(out_ptr + offs, exp(x))" in conversion.text
    assert "from helpers import exp\n" in conversion.text


def test_a_placeholder_is_not_what_a_kernel_calls(tmp_path: Path) -> None:
    conversion = converted(tmp_path, "from helpers import gather\n", "gather(x, offs, 0)", CHOSEN)
    assert "gl.gather(x, offs, 0)" in conversion.text


@pytest.mark.parametrize(
    "real", ["log = tl.device_print", "@triton.jit\n    def log(text, x):\n        tl.device_print(text, x)"]
)
def test_a_function_that_may_do_nothing_is_not_replaced(real: str, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(
        f"{HEAD}import os\n\nif os.environ.get('LOG'):\n    {real}\nelse:\n"
        "    @triton.jit\n    def log(text, x):\n        pass\n"
    )
    text = f"""{HEAD}from helpers import log

@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    log("x", x)
    tl.store(out_ptr + offs, x)
"""
    result = convert_text(text, path=str(tmp_path / "use.py"))
    assert "device_print" not in result.text
    if result.kernels[0].status == "converted":
        assert "from helpers import log" in result.text and 'log("x", x)' in result.text


def test_a_name_that_no_known_triton_has_is_not_what_a_kernel_calls(tmp_path: Path) -> None:
    expression = "make_descriptor(x_ptr, [BLOCK], [1], [BLOCK]).load([0])"
    conversion = converted(tmp_path, "from helpers import make_descriptor\n", expression, CHOSEN)
    assert "tma.make_tensor_descriptor(" in conversion.text


def test_a_function_python_runs_is_left(tmp_path: Path) -> None:
    result = converted(tmp_path, "from helpers import f", "f(x)", "def f(x):\n    return x\n")
    assert codes(result) == ["TP102"]


def test_what_a_helper_cannot_do_is_said_at_the_call(tmp_path: Path) -> None:
    helpers = f"{HEAD}\n@triton.jit\ndef f(x):\n    return missing(x)\n"
    result = converted(tmp_path, "from helpers import f", "f(x)", helpers)
    (found,) = result.diagnostics
    assert (found.code, found.line) == ("TP102", 9)
    assert "helpers.py:6" in found.message


def test_converting_again_changes_nothing(tmp_path: Path) -> None:
    first = converted(tmp_path, "from helpers import ramp, act", "ramp(x, BLOCK) + act(x)")
    again = convert_text(first.text, path=str(tmp_path / "use.py"))
    assert again.text == first.text


OFFSET = f"""{HEAD}
@triton.jit
def offset(indices, strides):
    tl.static_assert(len(indices) == len(strides))
    total = 0
    for axis in tl.static_range(len(strides)):
        total += indices[axis] * strides[axis]
    return total
"""


def test_a_loop_over_the_items_of_a_tuple(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(OFFSET)
    text = f"""{HEAD}from helpers import offset

@triton.jit
def kernel(x_ptr, strides, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    place = x_ptr + offset((tl.program_id(0), m[:, None], n[None, :]), strides)
    tl.store(place, tl.load(place) + 1)
"""
    result = convert_text(text, path=str(tmp_path / "use.py"))
    assert codes(result) == ["TP104"]
    # Each item is contiguous where its own stride is 1.
    assert "order: gl.constexpr = [0, 1] if unit(strides[1]) else [1, 0]\n" in result.text
    assert "element_bits(x_ptr) if unit(strides[2]) or unit(strides[1]) else 128\n" in result.text
    assert (
        "m, n = gl.arange(0, M, layout=gl.SliceLayout(1, layout)), gl.arange(0, N, layout=gl.SliceLayout(0, layout))"
        in result.text
    )


def test_a_file_of_helpers_keeps_those_that_need_a_layout(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS)
    result = convert_text(HELPERS, path=str(tmp_path / "helpers.py"))
    status = {kernel.name: kernel.status for kernel in result.kernels}
    assert status["scaled"] == "left"
    assert ("TP201", "scaled") in [(found.code, found.kernel) for found in result.diagnostics]
