"""Symbolic sizes, strides and kinds of the values in kernels."""

import pytest

from tests.convert.kernels import HEAD, kernel_text
from tritonport.analysis.frame import Frame
from tritonport.analysis.interpreter import Interpreter
from tritonport.analysis.strides import STRIDED, UNIT, UNKNOWN, ZERO, argument
from tritonport.analysis.values import Kind, Refusal, Value
from tritonport.source.module import SourceModule

PARAMETERS = "x_ptr, y_ptr, n, sm, sn, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, FLAG: tl.constexpr"
SETUP = "i = tl.arange(0, BM)\nj = tl.arange(0, BN)\np = x_ptr + i[:, None] * BN + j[None, :]\nx = tl.load(p)\n"


def frame_of(body: str, parameters: str = PARAMETERS, above: str = "", name: str = "kernel") -> Frame:
    text = kernel_text(body, parameters).replace(HEAD, HEAD.replace("@triton.jit\n", above + "@triton.jit\n"))
    module = SourceModule(text, "kernel.py")
    return Interpreter(module).run(next(kernel for kernel in module.kernels if kernel.name == name))


def last(frame: Frame, name: str) -> Value:
    return [definition.value for definition in frame.targets.values() if definition.name == name][-1]


def shape(expression: str, setup: str = SETUP) -> list[str]:
    value = last(frame_of(f"{setup}result = {expression}\n"), "result")
    assert value.is_tensor
    return [size.text for size in value.shape]


@pytest.mark.parametrize(
    ("expression", "sizes"),
    [
        ("i", ["BM"]),
        ("tl.arange(BM, 2 * BM)", ["(2 * BM) - BM"]),
        ("tl.arange(BN - 2, BN)", ["BN - (BN - 2)"]),
        ("i[:, None]", ["BM", "1"]),
        ("i[None, :, None]", ["1", "BM", "1"]),
        ("i[None]", ["1", "BM"]),
        ("x[:, :, None]", ["BM", "BN", "1"]),
        ("i[:, None] + j[None, :]", ["BM", "BN"]),
        ("i[:, None] + j", ["BM", "BN"]),
        ("x + 1", ["BM", "BN"]),
        ("-x", ["BM", "BN"]),
        ("x > j", ["BM", "BN"]),
        ("x[:, :, None] + j[None, None, :]", ["BM", "BN", "BN"]),
        ("tl.sum(x, 0)", ["BN"]),
        ("x.sum(-1)", ["BM"]),
        ("tl.max(x, axis=1, keep_dims=True)", ["BM", "1"]),
        ("tl.argmin(x, axis=0)", ["BN"]),
        ("tl.cumsum(x, 1)", ["BM", "BN"]),
        ("tl.sort(x)", ["BM", "BN"]),
        ("tl.topk(x, 4)", ["BM", "4"]),
        ("tl.histogram(i, 2 * D)", ["2 * D"]),
        ("tl.gather(j, i, 0)", ["BM"]),
        ("tl.zeros([BM, D // 2], tl.float32)", ["BM", "D // 2"]),
        ("tl.full(x.shape, 0.0, tl.float32)", ["BM", "BN"]),
        ("tl.zeros((x.shape[1],), tl.float32)", ["BN"]),
        ("tl.zeros_like(x)", ["BM", "BN"]),
        ("tl.broadcast_to(n, (BM, 4))", ["BM", "4"]),
        ("j[None, :].broadcast_to(BM, BN)", ["BM", "BN"]),
        ("tl.expand_dims(i, axis=-1)", ["BM", "1"]),
        ("tl.expand_dims(i, (0, 2))", ["1", "BM", "1"]),
        ("tl.where(i < 3, 1.0, 2.0)", ["BM"]),
        ("tl.rand(n, i)", ["BM"]),
        ("tl.atomic_add(p, 1.0)", ["BM", "BN"]),
        ("tl.exp(x).to(tl.float16)", ["BM", "BN"]),
        ("x if n > 3 else j", ["BM", "BN"]),
    ],
)
def test_shapes(expression: str, sizes: list[str]) -> None:
    assert shape(expression) == sizes


@pytest.mark.parametrize(
    "expression",
    [
        "n",
        "tl.sum(x)",
        "tl.sum(i, 0)",
        "tl.program_id(0)",
        "tl.load(x_ptr)",
        "n + 1",
        "tl.cdiv(n, BM)",
        "tl.full((), 1.0, tl.float32)",
        "tl.max(x).to(tl.float32)",
        "BM",
        "3",
    ],
)
def test_scalars(expression: str) -> None:
    assert last(frame_of(f"{SETUP}result = {expression}\n"), "result").kind is Kind.SCALAR


@pytest.mark.parametrize(
    ("index", "strides"),
    [
        ("j", (UNIT,)),
        ("j + 3 + n", (UNIT,)),
        ("j * 2", (STRIDED,)),
        ("j * sn", (argument("sn"),)),
        ("j // 2", (UNKNOWN,)),
        ("j % n", (UNIT,)),
        ("tl.load(y_ptr + j)", (UNKNOWN,)),
        ("tl.zeros([BM], tl.int32)", (ZERO,)),
        ("j + j", (STRIDED,)),
        ("i[:, None] * BN + j[None, :]", (argument("BN"), UNIT)),
        ("i[:, None] + j[None, :] * BM", (UNIT, argument("BM"))),
        ("i[:, None] * sm + j[None, :] * sn", (argument("sm"), argument("sn"))),
        ("(i[:, None] * 64 + j[None, :]).to(tl.int64)", (STRIDED, UNIT)),
        ("i[:, None] * sm + j", (argument("sm"), UNIT)),
        ("tl.max_contiguous(tl.load(y_ptr + j), BN)", (UNIT,)),
        ("tl.where(j < n, j, 0)", (UNIT,)),
        ("j // D", (ZERO,)),  # one number as long as the remainder goes on
        ("j // n * sm + j % n", (UNIT,)),
        ("j // 3 * sm + j % 3", (UNKNOWN,)),
        ("tl.load(y_ptr + j) // D", (UNKNOWN,)),
        ("(i[:, None] * sm + j) // D", (UNKNOWN, ZERO)),
    ],
)
def test_strides(index: str, strides: tuple[object, ...]) -> None:
    body = f"i = tl.arange(0, BM)\nj = tl.arange(0, BN)\nresult = {index}\n"
    assert last(frame_of(body), "result").strides == strides


@pytest.mark.parametrize(
    ("address", "pointers"),
    [
        ("x_ptr + i", ("x_ptr",)),
        ("x_ptr + n * 4 + i", ("x_ptr",)),
        ("tl.where(i < 3, x_ptr + i, y_ptr + i)", ("x_ptr", "y_ptr")),
        ("x_ptr.to(tl.pointer_type(tl.int32)) + i", ("gl.int32",)),
        ("tl.multiple_of(x_ptr + i, 16)", ("x_ptr",)),
    ],
)
def test_which_arguments_an_address_belongs_to(address: str, pointers: tuple[str, ...]) -> None:
    assert last(frame_of(f"i = tl.arange(0, BM)\nresult = {address}\n"), "result").pointers == pointers


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        ("S: tl.constexpr = BM * 2", "BM * 2"),
        ("S: tl.constexpr = BM if FLAG else BN", "(BM if FLAG else BN)"),
        ("if FLAG:\n    S: tl.constexpr = BM\nelse:\n    S: tl.constexpr = BN // 2", "(BM if FLAG else BN // 2)"),
        ("W: tl.constexpr = D > 8 and FLAG\nS: tl.constexpr = BM if W else D", "(BM if (D > 8 and FLAG) else D)"),
        ("S: tl.constexpr = triton.next_power_of_2(D)", "triton.next_power_of_2(D)"),
        ("S: tl.constexpr = min(D, 32)", "min(D, 32)"),
        ("S: tl.constexpr = tl.cdiv(BM, 2)", "(BM + 2 - 1) // 2"),
        ("H: tl.constexpr = D // 2\nS: tl.constexpr = H + 1", "(D // 2) + 1"),
        ("S: tl.constexpr = tl.cdiv(BM + 1, 2 * D)", "((BM + 1) + (2 * D) - 1) // (2 * D)"),
        ("S: tl.constexpr = 1 << 4", "1 << 4"),
    ],
)
def test_sizes_from_local_compile_time_values(statements: str, text: str) -> None:
    assert shape("tl.zeros([S], tl.float32)", setup=statements + "\n") == [text]


def test_equal_sizes_are_equal_however_they_are_spelled() -> None:
    frame = frame_of("H: tl.constexpr = D * 2\na = tl.arange(0, H)\nb = tl.arange(0, 2 * D)\nc = tl.arange(D, 3 * D)\n")
    assert last(frame, "a").shape == last(frame, "b").shape == last(frame, "c").shape


def test_a_module_level_constant_is_a_size() -> None:
    frame = frame_of("a = tl.arange(0, W)\n", above="W = tl.constexpr(64)\n\n\n")
    assert [size.text for size in last(frame, "a").shape] == ["W"]


@pytest.mark.parametrize(
    ("branch", "element"),
    [
        ("if FLAG == 2:\n    x = x.to(tl.float32)", "(gl.float32 if FLAG == 2 else x_ptr.dtype.element_ty)"),
        (
            "y = tl.load(y_ptr + i)\nif x.dtype != y.dtype:\n    x = x.to(tl.float16)",
            "(gl.float16 if x_ptr.dtype.element_ty != y_ptr.dtype.element_ty else x_ptr.dtype.element_ty)",
        ),
        ("wide = FLAG\nif wide:\n    x = x.to(tl.float32)", ""),  # a local is a number of the run time
    ],
)
def test_an_element_type_that_a_compile_time_test_picks(branch: str, element: str) -> None:
    value = last(frame_of(f"{SETUP}{branch}\nresult = x + 0\n"), "result")
    assert "".join(value.element) == element


def test_a_scalar_has_no_dimensions() -> None:
    assert last(frame_of("result = tl.full(tl.program_id(0).shape, 1, tl.int32)"), "result").kind is Kind.SCALAR


def test_a_tuple_as_long_as_a_tuple_argument() -> None:
    frame = frame_of(
        "wide = ()\nfor k in tl.static_range(len(sm)):\n    wide += (tl.cast(sm[k], tl.int64),)\n"
        "a, b = wide[0], wide[1] + n"
    )
    assert [last(frame, name).kind for name in ("wide", "a", "b")] == [Kind.SCALAR] * 3


def test_a_loop_carries_what_its_body_makes() -> None:
    frame = frame_of("acc = 0.0\np = x_ptr\nfor k in range(n):\n    acc += tl.arange(0, BM)\n    p += BN\n")
    acc = [merge.value for merge in frame.merges if merge.name == "acc"][-1]
    pointer = [merge.value for merge in frame.merges if merge.name == "p"][-1]
    assert [size.text for size in acc.shape] == ["BM"]
    assert (pointer.kind, pointer.pointers) == (Kind.SCALAR, ("x_ptr",))


def test_a_test_that_is_known_reads_one_branch() -> None:
    body = "r = pick(x_ptr, None, tl.arange(0, BM))\n"
    above = "@triton.jit\ndef pick(a, b, i):\n    if b is None:\n        return i\n    return tl.load(b + i)\n\n\n"
    frame = frame_of(body, above=above)
    (callee,) = frame.calls.values()
    assert len(callee.returns) == 1 and callee.parameters["b"].value.kind is Kind.NONE
    assert [size.text for size in last(frame, "r").shape] == ["BM"]


def test_a_helper_is_read_once_for_each_call() -> None:
    above = "@triton.jit\ndef twice(x):\n    return x * 2\n\n\n"
    frame = frame_of("a = twice(tl.arange(0, BM))\nb = twice(tl.arange(0, BN)[None, :])\nc = twice(n)\n", above=above)
    assert len(frame.calls) == 3
    assert [last(frame, name).rank for name in "abc"] == [1, 2, 0]


def test_tuples_keep_their_items() -> None:
    frame = frame_of("t = (tl.arange(0, BM), 3, (n, tl.arange(0, BN)))\na, b, (c, d) = t\ne = t[2][1]\n")
    assert [last(frame, name).kind for name in "abcde"] == [
        Kind.TENSOR,
        Kind.SCALAR,
        Kind.SCALAR,
        Kind.TENSOR,
        Kind.TENSOR,
    ]
    assert last(frame, "e").shape == last(frame, "d").shape


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("a = unknown(n)", "TP102"),
        ("a = tl.arange(0, n)", "TP201"),
        ("a = tl.zeros([n], tl.float32)", "TP201"),
        ("a = tl.sum(tl.arange(0, BM), FLAG)", "TP201"),
        ("a = tl.sum(tl.arange(0, BM), 1)", "TP203"),
        ("tl.store(x_ptr, tl.arange(0, BM))", "TP203"),
        ("a = n[:, None]", "TP105"),
        ("a = tl.load(x_ptr, masks=1)", "TP103"),
        ("a = 0 < n < 3", "TP105"),
        ("a = [k for k in range(3)]", "TP105"),
        ("a = lambda x: x", "TP105"),
        ("x_ptr[0] = 1", "TP105"),
        ("with n: pass", "TP105"),
        ("for k in n: pass", "TP105"),
        ("for k in range(3): pass\nelse: n = 1", "TP105"),
        ("a = x_ptr @ y_ptr", "TP101"),
        ("a = tl.arange(0, BM).T", "TP203"),
        ("a = tl.nothing(n)", "TP101"),
        ("a, b = (1, 2, 3)", "TP105"),
        ("if FLAG:\n    a = tl.arange(0, BM)\nelse:\n    a = tl.arange(0, BM)[None, :]\nb = a + 1", "TP203"),
        ("import math", "TP105"),
        ("global n", "TP105"),
        ("break", "TP105"),
    ],
)
def test_what_is_refused(body: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        frame_of(body)
    assert refused.value.code == code
    assert refused.value.message and refused.value.node is not None


def test_a_helper_that_calls_itself_is_refused() -> None:
    with pytest.raises(Refusal, match="calls itself"):
        frame_of("a = f(n)\n", above="@triton.jit\ndef f(x):\n    return f(x - 1)\n\n\n")


@pytest.mark.parametrize(
    ("expression", "element"),
    [
        ("x", ("x_ptr",)),
        ("x + x", ("x_ptr",)),
        ("x * 2.0", ("x_ptr",)),  # a Python number takes the tensor's type
        ("x * n", ()),  # n may be a float32, which 16-bit elements give way to
        ("tl.where(x > 0, x, n)", ()),
        ("x * tl.load(y_ptr)", ()),
        ("x.to(tl.float32) * n", ("gl.float32",)),  # nothing that a kernel is passed is wider
        ("x.to(tl.float32) + x", ("gl.float32",)),
        ("x.to(tl.float64) - x.to(tl.float32)", ("gl.float64",)),
        ("tl.where(x > 0, x.to(tl.float16), x.to(tl.bfloat16))", ("gl.float16",)),
        ("tl.maximum(x.to(tl.bfloat16), i[:, None].to(tl.int32))", ("gl.float32",)),
        ("x + y_ptr.to(tl.float32)", ()),
        ("x / n", ("gl.float32",)),  # a quotient is one at least
        ("x.to(tl.bfloat16) / 2.0", ("gl.float32",)),
        ("x.to(tl.float32) if FLAG else x", ("(gl.float32 if FLAG else x_ptr.dtype.element_ty)",)),
        ("x.to(tl.float32) if n > 0 else x", ()),
        ("i.to(tl.int64) + y_ptr", ()),  # a pointer
        ("y_ptr + i.to(tl.int64)", ()),
        ("i.to(tl.int64) * 2", ("gl.int64",)),
        ("i.to(tl.int64) * 0.5", ("gl.float32",)),
        ("i.to(tl.int32) / i.to(tl.int32)", ("gl.float32",)),
        ("x.to(tl.float16) > n", ("gl.int1",)),
    ],
)
def test_element_types(expression: str, element: tuple[str, ...]) -> None:
    """What an expression's elements are, where the source says it: empty where it does not."""
    assert last(frame_of(f"{SETUP}result = {expression}\n"), "result").element == element
