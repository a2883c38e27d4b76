"""What small kernels look like after the port, as a person reads it: everything from the kernel on."""

import pytest

from tests.convert.kernels import convert, kernel_text, ported


def body(parameters: str, statements: str, above: str = "") -> str:
    """The statements of the ported kernel, without indentation."""
    text = kernel_text(statements, parameters)
    text = text.replace("\n\n\n@triton.jit\n", f"\n\n\n{above}@triton.jit\n", 1)
    port = ported(text)
    lines = port[port.index("def kernel(") :].splitlines()[1:]
    return "\n".join(line[4:] for line in lines)


def test_one_tile() -> None:
    before = """
offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
mask = offs < n
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, x.to(tl.float32) * 2, mask=mask)
"""
    after = """
layout: gl.constexpr = coalesced([BLOCK], element_bits(x_ptr, out_ptr), [0], gl.num_warps())
offs = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
mask = offs < n
x = gl.load(x_ptr + offs, mask=mask)
gl.store(out_ptr + offs, x.to(gl.float32) * 2, mask=mask)
"""
    assert body("x_ptr, out_ptr, n, BLOCK: tl.constexpr", before) == after.strip()


def test_a_row_statistic_lives_in_a_slice_of_the_tile_until_it_is_stored() -> None:
    before = """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + rows[:, None] * BN + cols[None, :])
m = tl.max(x, axis=1)
tl.store(out_ptr + rows, m)
"""
    after = """
x_layout: gl.constexpr = coalesced([BM, BN], element_bits(x_ptr), [1, 0], gl.num_warps())
out_layout: gl.constexpr = coalesced([BM], element_bits(out_ptr), [0], gl.num_warps())

rows_x, rows_out, cols = (
    gl.arange(0, BM, layout=gl.SliceLayout(1, x_layout)),
    gl.arange(0, BM, layout=out_layout),
    gl.arange(0, BN, layout=gl.SliceLayout(0, x_layout)),
)
x = gl.load(x_ptr + rows_x[:, None] * BN + cols[None, :])
m = gl.max(x, axis=1)
gl.store(out_ptr + rows_out, gl.convert_layout(m, out_layout))
"""
    assert body("x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr", before) == after.strip()


def test_an_index_of_two_tiles_is_written_for_each() -> None:
    before = """
i = tl.arange(0, BM)
j = tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
tl.store(out_ptr + j[None, :] * BM + i[:, None], x)
"""
    after = """
x_layout: gl.constexpr = coalesced([BM, BN], element_bits(x_ptr), [1, 0], gl.num_warps())
out_layout: gl.constexpr = coalesced([BM, BN], element_bits(out_ptr), [0, 1], gl.num_warps())

i_x = gl.arange(0, BM, layout=gl.SliceLayout(1, x_layout))
i_out = gl.arange(0, BM, layout=gl.SliceLayout(1, out_layout))
j_x = gl.arange(0, BN, layout=gl.SliceLayout(0, x_layout))
j_out = gl.arange(0, BN, layout=gl.SliceLayout(0, out_layout))
x = gl.load(x_ptr + i_x[:, None] * BN + j_x[None, :])
gl.store(out_ptr + j_out[None, :] * BM + i_out[:, None], gl.convert_layout(x, out_layout))
"""
    assert body("x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr", before) == after.strip()


def test_two_tiles_of_one_tensor_are_told_apart_by_their_dimensions() -> None:
    before = """
m = tl.arange(0, BLOCK_M)
n = tl.arange(0, BLOCK_N)
if TRANSPOSED:
    x = tl.trans(tl.load(x_ptr + n[:, None] * ld + m[None, :]))
else:
    x = tl.load(x_ptr + m[:, None] * ld + n[None, :])
tl.store(out_ptr + m, tl.sum(x, 1))
"""
    after = """
x_layout: gl.constexpr = coalesced([BLOCK_N, BLOCK_M], x_bits, [1, 0], gl.num_warps())
x_mn_layout: gl.constexpr = coalesced([BLOCK_M, BLOCK_N], x_bits, [1, 0], gl.num_warps())
"""
    text = body("x_ptr, out_ptr, ld, TRANSPOSED: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr", before)
    assert after in text
    assert text.count("_bits: gl.constexpr = ") == 1


def test_a_tile_that_is_only_stored_has_the_name_of_its_addresses() -> None:
    before = """
i = tl.arange(0, BM)
c_ptr = tl.load(addresses).to(tl.pointer_type(tl.float16))
x = tl.sum(tl.load(x_ptr + i[:, None] * BN + tl.arange(0, BN)[None, :]), 1)
c_ptrs = c_ptr + i
tl.store(c_ptrs, x)
"""
    text = body("addresses, x_ptr, BM: tl.constexpr, BN: tl.constexpr", before)
    assert "\nc_layout: gl.constexpr = coalesced([BM], " in text


def test_an_index_that_is_assigned_again_keeps_the_names_of_its_copies() -> None:
    before = """
rows = tl.arange(0, BM)
tl.store(out_ptr + rows, tl.sum(tl.load(x_ptr + rows[:, None] * BM + tl.arange(0, BM)[None, :]), axis=1))
rows = BM + tl.arange(0, BM)
tl.store(out_ptr + rows, tl.sum(tl.load(x_ptr + rows[:, None] * BM + tl.arange(0, BM)[None, :]), axis=1))
"""
    lines = body("x_ptr, out_ptr, BM: tl.constexpr", before).splitlines()
    assigned = [line.split(" = ")[0] for line in lines if line.startswith("rows")]
    assert assigned == ["rows_x", "rows_out", "rows_x", "rows_out"]


def test_copies_that_read_each_other_have_names_of_their_own() -> None:
    before = """
i = tl.arange(0, BM)[:, None] + tl.arange(0, BM)[None, :] * 2
i = tl.trans(i)
j = tl.arange(0, BM)[:, None] * BM + tl.arange(0, BM)[None, :]
tl.store(out_ptr + j, tl.load(x_ptr + j) + i + tl.trans(i))
"""
    after = """
i_tile_2 = gl.permute(i_transposed, (1, 0))
i_transposed_2 = gl.permute(i_tile, (1, 0))
"""
    assert after.strip() in body("x_ptr, out_ptr, BM: tl.constexpr", before)


@pytest.mark.parametrize(
    ("imports", "after"),
    [
        ("import torch\nimport triton\n", "import os\n\nimport torch\nimport triton\n"),
        ("import math\n\nimport torch\nimport triton\n", "import math\nimport os\n\nimport torch\nimport triton\n"),
        ("# Made by hand.\nimport triton\n", "# Made by hand.\nimport os\n\nimport triton\n"),
        ("import os\n\nimport triton\n", "import os\n\nimport triton\n"),
        (
            "from __future__ import annotations\n\nimport triton\n",
            "from __future__ import annotations\n\nimport os\n\nimport triton\n",
        ),
    ],
)
def test_modules_of_python_are_imported_where_a_file_has_them(imports: str, after: str) -> None:
    statements = """
i = tl.arange(0, BM)
x = tl.load(x_ptr + i[:, None] * BM + i[None, :])
tl.store(out_ptr + i[:, None] * BM + i[None, :], tl.dot(x, x))
"""
    text = kernel_text(statements, "x_ptr, out_ptr, BM: tl.constexpr")
    text = imports + "import triton.language as tl\n" + text[text.index("\n\n\n@triton.jit") :]
    port = convert(text).text
    assert port[: port.index("# tritonport")] == after


def test_one_range_along_both_axes() -> None:
    before = "r = tl.arange(0, BM)\ntl.store(out_ptr + r[:, None] * BM + r[None, :], 1.0)\n"
    after = """
layout: gl.constexpr = coalesced([BM, BM], element_bits(out_ptr), [1, 0], gl.num_warps())
r_rows = gl.arange(0, BM, layout=gl.SliceLayout(1, layout))
r_cols = gl.arange(0, BM, layout=gl.SliceLayout(0, layout))
gl.store(out_ptr + r_rows[:, None] * BM + r_cols[None, :], 1.0)
"""
    assert body("out_ptr, BM: tl.constexpr", before) == after.strip()


def test_run_time_strides_choose_the_order_when_the_kernel_compiles() -> None:
    before = """
i, j = tl.arange(0, BM), tl.arange(0, BN)
p = i[:, None] * sm + j[None, :] * sn
tl.store(out_ptr + p, tl.load(x_ptr + p))
"""
    after = """
order: gl.constexpr = [0, 1] if unit(sm) else [1, 0]
bits: gl.constexpr = element_bits(x_ptr, out_ptr) if (unit(sn) or unit(sm)) and ALIGNED else 128
layout: gl.constexpr = coalesced([BM, BN], bits, order, gl.num_warps())

i, j = gl.arange(0, BM, layout=gl.SliceLayout(1, layout)), gl.arange(0, BN, layout=gl.SliceLayout(0, layout))
p = i[:, None] * sm + j[None, :] * sn
gl.store(out_ptr + p, gl.load(x_ptr + p))
"""
    assert body("x_ptr, out_ptr, sm, sn, BM: tl.constexpr, BN: tl.constexpr", before) == after.strip()


@pytest.mark.parametrize(
    ("step", "condition"),
    [
        # One factor is enough: a tile is a multiple of 16 already, and two other arguments are one together.
        ("BLOCK * SPLIT", ""),
        ("SPLIT * BLOCK", ""),
        ("SPLIT * PARTS", " if SPLIT * PARTS % 8 == 0 else 128"),
        ("PARTS", " if PARTS % 8 == 0 else 128"),
        ("PARTS * stride", " if PARTS % 8 == 0 else 128"),
    ],
)
def test_a_step_of_several_factors_is_aligned_where_their_product_is(step: str, condition: str) -> None:
    before = f"""
p = x_ptr + tl.arange(0, BLOCK)
for _ in range(n):
    tl.store(p, 0.0)
    p += {step}
"""
    parameters = "x_ptr, n, stride, BLOCK: tl.constexpr, SPLIT: tl.constexpr, PARTS: tl.constexpr"
    head = body(parameters, before).splitlines()[0]
    wanted = f"bits: gl.constexpr = element_bits(x_ptr){condition}"
    plain = "layout: gl.constexpr = coalesced([BLOCK], element_bits(x_ptr), [0], gl.num_warps())"
    assert head == (wanted if condition else plain)


def test_the_layout_of_a_dot_is_not_taken_for_that_of_memory() -> None:
    before = """
i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
a = tl.load(a_ptr + i[:, None] * BK + k[None, :])
b = tl.load(b_ptr + k[:, None] * BN + j[None, :])
c = tl.dot(a, b)
tl.store(c_ptr + i[:, None] * BN + j[None, :], c)
"""
    written = body("a_ptr, b_ptr, c_ptr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr", before)
    lines = written.partition("\n\n")[0].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["a_layout", "b_layout", "c_layout", "c_dot_layout"]
    assert "c_dot_layout: gl.constexpr = mma_layout([BM, BN], BK," in lines[-1]


def test_ranks_are_padded_where_triton_does_it_unsaid() -> None:
    before = """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j)
x += tl.load(x_ptr + j)
tl.store(out_ptr + i[:, None] * BN + j, x, mask=j < n)
"""
    after = """
layout: gl.constexpr = coalesced([BM, BN], element_bits(x_ptr, out_ptr), [1, 0], gl.num_warps())
i, j = gl.arange(0, BM, layout=gl.SliceLayout(1, layout)), gl.arange(0, BN, layout=gl.SliceLayout(0, layout))
x = gl.load(x_ptr + i[:, None] * BN + j[None, :])
x += gl.load(x_ptr + j)[None, :]
gl.store(out_ptr + (i[:, None] * BN + j[None, :]), x, mask=(j < n)[None, :])
"""
    written = body("x_ptr, out_ptr, n, BM: tl.constexpr, BN: tl.constexpr", before)
    assert (
        written.replace("out_ptr + i[:, None] * BN + j[None, :]", "out_ptr + (i[:, None] * BN + j[None, :])")
        == after.strip()
    )


ITERATORS = [
    ("tl.range(n)", "range(n)"),
    ("tl.range(0, n)", "range(0, n)"),
    ("tl.range(0, n, 2)", "range(0, n, 2)"),
    ("tl.range(0, n, step=BLOCK)", "range(0, n, BLOCK)"),
    ("tl.range(arg1=1, arg2=n, step=2)", "range(1, n, 2)"),
    ("tl.range(step=2, arg2=n, arg1=1)", "range(1, n, 2)"),
    ("tl.range(n, step=2)", "range(0, n, 2)"),
    ("tl.range(arg1=n, step=2)", "range(0, n, 2)"),
    ("tl.range(arg1=n)", "range(n)"),
    ("range(n)", "range(n)"),
    ("range(n, 0, -1)", "range(n, 0, -1)"),
    ("tl.static_range(BLOCK)", "gl.static_range(BLOCK)"),
    ("tl.static_range(0, BLOCK, step=2)", "gl.static_range(0, BLOCK, step=2)"),
]


@pytest.mark.parametrize(("before", "after"), ITERATORS)
def test_every_spelling_of_a_range(before: str, after: str) -> None:
    written = body("out_ptr, n, BLOCK: tl.constexpr", f"for i in {before}:\n    tl.store(out_ptr + i, i)\n")
    assert written == f"for i in {after}:\n    gl.store(out_ptr + i, i)"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("tl.range(0, n, num_stages=3)", "num_stages=3 is a hint"),
        ("tl.range(0, n, 1, 3)", "num_stages=3 is a hint"),
        ("tl.range(n, loop_unroll_factor=2, flatten=True)", "loop_unroll_factor=2, flatten=True are hints"),
        ("tl.range(0, n, step=2, warp_specialize=True)", "warp_specialize=True is a hint"),
        ("tl.range(0, n, disallow_acc_multi_buffer=True)", "disallow_acc_multi_buffer=True is a hint"),
    ],
)
def test_hints_of_a_range_stay_and_are_said(call: str, said: str) -> None:
    text = kernel_text(f"for i in {call}:\n    tl.store(out_ptr + i, i)\n", "out_ptr, n")
    conversion = convert(text)
    (found,) = conversion.diagnostics
    assert (found.code, found.line, found.kernel) == ("TP106", 7, "kernel")
    assert found.message.startswith(said)
    note = f"    # tritonport: TP106 {found.message}\n    for i in {call}:\n"
    assert note in conversion.text
    assert convert(conversion.text).text == conversion.text


def test_a_note_is_one_line() -> None:
    loop = "for i in tl.range(0, n, num_stages=(2 +\n        1)):\n    tl.store(out_ptr + i, i)\n"
    conversion = convert(kernel_text(loop, "out_ptr, n"))
    note = "    # tritonport: TP106 num_stages=(2 + 1) is a hint that Gluon does not act on\n"
    assert f"{note}    for i in" in conversion.text
    assert convert(conversion.text).text == conversion.text


def test_a_note_is_left_away_where_the_file_asks_for_it() -> None:
    loop = "# tritonport: ignore[TP106]\nfor i in tl.range(0, n, num_stages=3):\n    tl.store(out_ptr + i, i)\n"
    conversion = convert(kernel_text(loop, "out_ptr, n"))
    assert conversion.diagnostics == () and conversion.text.count("TP106") == 1


SCALARS = [
    ("tl.zeros([], tl.float32)", "gl.to_tensor(0).to(gl.float32)"),
    ("tl.full((), 2, tl.int32)", "gl.to_tensor(2).to(gl.int32)"),
    ("tl.float32(n)", "gl.cast(n, gl.float32)"),
    ("tl.cdiv(n, BLOCK)", "gl.cdiv(n, BLOCK)"),
    ("tl.cast(n, tl.float32)", "gl.cast(n, gl.float32)"),
    ("n.to(tl.int64)", "n.to(gl.int64)"),
    ("tl.num_programs(axis=0)", "gl.num_programs(axis=0)"),
]


@pytest.mark.parametrize(("before", "after"), SCALARS)
def test_scalars(before: str, after: str) -> None:
    written = body("out_ptr, n, BLOCK: tl.constexpr", f"tl.store(out_ptr, {before})\n")
    assert written == f"gl.store(out_ptr, {after})"


def test_a_helper_takes_its_layout_from_an_argument_or_from_the_call() -> None:
    above = "@triton.jit\ndef ramp(N: tl.constexpr):\n    return tl.arange(0, N)\n\n\n"
    above += "@triton.jit\ndef noise(x, N: tl.constexpr):\n    return x + tl.zeros([N], tl.float32)\n\n\n"
    text = kernel_text(
        "offs = ramp(BLOCK)\ntl.store(out_ptr + offs, noise(tl.load(out_ptr + offs), BLOCK))\n",
        "out_ptr, BLOCK: tl.constexpr",
    )
    port = ported(text.replace("\n\n\n@triton.jit\n", f"\n\n\n{above}@triton.jit\n", 1))
    assert (
        port[port.index("@gluon.jit\ndef ramp") :]
        == """@gluon.jit
def ramp(N: gl.constexpr, layout: gl.constexpr):
    return gl.arange(0, N, layout=layout)


@gluon.jit
def noise(x, N: gl.constexpr):
    layout: gl.constexpr = x.type.layout
    return x + gl.zeros([N], gl.float32, layout=layout)


@gluon.jit
def kernel(out_ptr, BLOCK: gl.constexpr):
    layout: gl.constexpr = coalesced([BLOCK], element_bits(out_ptr), [0], gl.num_warps())
    offs = ramp(BLOCK, layout=layout)
    gl.store(out_ptr + offs, noise(gl.load(out_ptr + offs), BLOCK))
"""
    )


def test_a_combine_function_only_changes_its_decorator() -> None:
    above = "@triton.jit\ndef add(a, b):\n    return a + b\n\n\n"
    text = kernel_text(
        "offs = tl.arange(0, 64)\ntl.store(out_ptr, tl.reduce(tl.load(out_ptr + offs), 0, add))\n", "out_ptr"
    )
    port = ported(text.replace("\n\n\n@triton.jit\n", f"\n\n\n{above}@triton.jit\n", 1))
    assert above.replace("triton.jit", "gluon.jit") in port
    assert "gl.reduce(gl.load(out_ptr + offs), 0, add)" in port


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("tl.arange(0, 8).sort()", "TP101"),
        ("missing(n)", "TP102"),
        ("tl.load(out_ptr, masks=n)", "TP103"),
    ],
)
def test_what_is_left_names_the_call(call: str, code: str) -> None:
    text = kernel_text(f"x = {call}\n", "out_ptr, n")
    conversion = convert(text)
    (found,) = conversion.diagnostics
    assert conversion.text == text and conversion.kernels[0].status == "left"
    assert (found.code, found.line) == (code, 7)
    assert call.split("(")[0] in found.message or found.code == "TP103" or "the method .sort" in found.message


ROWS = """
offs = tl.arange(0, BLOCK)
row = tl.program_id(0)
tl.store(out_ptr + row * stride_out_row + offs, tl.load(x_ptr + row * stride_x_row + offs, mask=offs < n_columns))
"""


def test_a_signature_that_grows_too_long_gets_one_parameter_to_a_line() -> None:
    parameters = (
        "x_ptr, out_ptr, stride_x_row, stride_out_row, n_columns, added_to_the_denominator, BLOCK: tl.constexpr"
    )
    assert len(f"def kernel({parameters}):") < 120
    port = ported(kernel_text(ROWS, parameters))
    head = """
def kernel(
    x_ptr,
    out_ptr,
    stride_x_row,
    stride_out_row,
    n_columns,
    added_to_the_denominator,
    BLOCK: gl.constexpr,
    ALIGNED: gl.constexpr,
):
"""
    assert head in port
    # The same where the parameters had a line of their own, between the parentheses.
    assert head in ported(kernel_text(ROWS, f"\n    {parameters}\n"))


def test_a_signature_that_still_fits_stays_on_its_line() -> None:
    parameters = "x_ptr, out_ptr, stride_x_row, stride_out_row, n_columns, BLOCK: tl.constexpr"
    added = "BLOCK: gl.constexpr, ALIGNED: gl.constexpr"
    before = parameters.removesuffix("BLOCK: tl.constexpr")
    assert f"def kernel(\n    {before}{added}\n):\n" in ported(kernel_text(ROWS, f"\n    {parameters}\n"))
    assert "\n    n_columns,  # of x\n    BLOCK: gl.constexpr,\n    ALIGNED: gl.constexpr):\n" in ported(
        kernel_text(ROWS, parameters.replace(" n_columns, ", "\n    n_columns,  # of x\n    "))
    )


def test_a_helper_for_two_ranks_is_written_once() -> None:
    above = """@triton.jit
def clipped(x):
    return tl.maximum(x, 0.0)


@triton.jit
def scaled(x, alpha):
    return clipped(x) * alpha


"""
    text = kernel_text(
        """
i = tl.arange(0, BM)
j = tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
w = tl.load(w_ptr + j)
tl.store(out_ptr + i[:, None] * BN + j[None, :], scaled(x, alpha) + scaled(w, alpha)[None, :])
""",
        "x_ptr, w_ptr, out_ptr, alpha, BM: tl.constexpr, BN: tl.constexpr",
    ).replace("\n\n\n@triton.jit\n", f"\n\n\n{above}@triton.jit\n", 1)
    port = ported(text)
    assert port.count("def clipped") == port.count("def scaled") == 1
    assert "scaled(x, alpha) + scaled(w, alpha)[None, :]" in port


def test_a_vector_whose_stride_is_a_size_has_no_runs() -> None:
    """It is contiguous where the size is one, and aligned where eight divides it: never both."""
    before = """
rows = tl.program_id(0) * BM + tl.arange(0, BM)
tl.store(out_ptr + rows * A, tl.load(x_ptr + rows * A))
"""
    after = """
layout: gl.constexpr = coalesced([BM], 128, [0], gl.num_warps())
rows = gl.program_id(0) * BM + gl.arange(0, BM, layout=layout)
gl.store(out_ptr + rows * A, gl.load(x_ptr + rows * A))
"""
    assert body("x_ptr, out_ptr, BM: tl.constexpr, A: tl.constexpr", before) == after.strip()


def test_a_column_is_read_where_its_tile_wants_it() -> None:
    before = """
rows, cols = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
mean = tl.load(mean_ptr + rows)
tl.store(out_ptr + rows * BN + cols, tl.load(x_ptr + rows * BN + cols) - mean)
"""
    written = body("x_ptr, mean_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr", before)
    assert written.count("coalesced(") == 1 and "convert_layout" not in written
    assert "mean = gl.load(mean_ptr + rows)" in written


def test_an_index_that_is_taken_apart_and_put_together_is_contiguous() -> None:
    before = """
offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
place = offs // D * stride + offs % D
tl.store(out_ptr + place, tl.load(x_ptr + place))
"""
    written = body("x_ptr, out_ptr, stride, D: tl.constexpr, BLOCK: tl.constexpr", before)
    assert "element_bits(x_ptr, out_ptr) if ALIGNED and D % 8 == 0 else 128" in " ".join(written.split())


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        # The comment of the last parameter stays with it, and the parenthesis where it stood.
        (
            "x_ptr, out_ptr, stride_x_row, stride_out_row,\n"
            "           n_columns,\n           BLOCK: tl.constexpr  # tile\n",
            "           n_columns,\n           BLOCK: gl.constexpr,  # tile\n           ALIGNED: gl.constexpr\n):\n",
        ),
        (
            "\n    x_ptr,\n    out_ptr,\n    stride_x_row,\n    stride_out_row,\n"
            "    n_columns,\n    BLOCK: tl.constexpr  #\n",
            "    n_columns,\n    BLOCK: gl.constexpr,  #\n    ALIGNED: gl.constexpr\n):\n",
        ),
        (
            "\n    x_ptr, out_ptr, stride_x_row, stride_out_row, n_columns, BLOCK: tl.constexpr  # tile\n",
            "    x_ptr, out_ptr, stride_x_row, stride_out_row, n_columns, BLOCK: gl.constexpr, ALIGNED: gl.constexpr"
            "  # tile\n):\n",
        ),
    ],
)
def test_a_comment_behind_the_last_parameter_stays_in_the_signature(written: str, expected: str) -> None:
    assert expected in ported(kernel_text(ROWS, written))


HELPED = """
offs = tl.arange(0, BLOCK)
tl.store(out_ptr + offs, numbers(
    n_columns,
    BLOCK{end}
))
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (",", "        n_columns,\n        BLOCK,\n        layout=layout,\n    ))\n"),
        (",  # the width", "        n_columns,\n        BLOCK,  # the width\n        layout=layout,\n    ))\n"),
        ("", "        n_columns,\n        BLOCK,\n        layout=layout\n    ))\n"),
        ("  # the width", "        n_columns,\n        BLOCK,  # the width\n        layout=layout\n    ))\n"),
    ],
)
def test_a_call_with_one_argument_to_a_line_gets_its_layouts_on_lines_of_their_own(end: str, expected: str) -> None:
    above = "@triton.jit\ndef numbers(n, BLOCK: tl.constexpr):\n    return tl.arange(0, BLOCK) * n\n\n\n@triton.jit\n"
    assert expected in ported(kernel_text(HELPED.format(end=end), "out_ptr, n_columns, BLOCK: tl.constexpr", above))


def test_several_ranges_in_one_line_that_nothing_reads() -> None:
    before = """
rows, cols = tl.arange(0, N), tl.arange(0, N)
tl.store(out_ptr + tl.arange(0, N), 1.0)
"""
    assert "rows, cols = gl.arange(0, N, layout=" in body("out_ptr, N: tl.constexpr", before)
