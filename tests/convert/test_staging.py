"""Tiles that dots read: put in shared memory where they are loaded, once for all of the dots."""

from pathlib import Path

import pytest

from tests.convert.kernels import assert_same_numbers, convert, kernel_text

ROWS = "rows, cols = tl.arange(0, BM), tl.arange(0, BN)\n"
LATE = """
acc = tl.zeros([BM, BM], dtype=tl.float32)
total = tl.zeros([BM, BN], dtype=tl.float32)
for step in range(steps):
    x = tl.load(x_ptr + (step * BM + rows[:, None]) * BN + cols[None, :])
    y = tl.load(y_ptr + (step * BN + cols[:, None]) * BM + rows[None, :])
    total = tl.exp2(total - x)
    acc = tl.dot(total, y, acc)
tl.store(out_ptr + rows[:, None] * BM + rows[None, :], acc)
"""
BOTH_SIDES = """
acc = tl.zeros([BM, BN], dtype=tl.float32)
for step in range(steps):
    x = tl.load(x_ptr + (step * BM + rows[:, None]) * BN + cols[None, :])
    gram = tl.dot(x, {turned})
    acc = tl.dot(gram, x, acc)
tl.store(out_ptr + rows[:, None] * BN + cols[None, :], acc)
"""
HELPER = """
@triton.jit
def walk(acc, x, y_ptr, rows, cols, steps, BM: tl.constexpr, BN: tl.constexpr):
    for step in range(steps):
        place = step * BN + cols
        y = tl.load(y_ptr + place[:, None] * BM + rows[None, :], mask=place[:, None] < 90, other=0.0)
        sums = tl.dot(x, y)
        acc += tl.where(rows[None, :] < 9, sums, 1.0)
    return acc


"""
PARAMETERS = "x_ptr, y_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr"


def ported_lines(body: str, above: str = "") -> list[str]:
    text = kernel_text(ROWS + body, PARAMETERS)
    text = text.replace("\n\n\n@triton.jit\n", f"\n\n\n{above.strip()}\n\n\n@triton.jit\n", 1) if above else text
    port = convert(text).text
    return [line.strip() for line in port[port.index("def walk(" if above else "def kernel(") :].splitlines()]


def test_a_tile_for_a_later_dot_goes_to_shared_memory_where_it_is_loaded() -> None:
    lines = ported_lines(LATE)
    loaded = next(index for index, line in enumerate(lines) if line.startswith("y = gl.load("))
    assert lines[loaded + 1] == "y_smem = dot_operand(y, 1, acc_layout)"
    assert loaded < next(index for index, line in enumerate(lines) if line.startswith("total = gl.exp2("))
    assert "acc = dot(total, y_smem, acc)" in "\n".join(lines)


def test_a_tile_for_the_next_statement_goes_there_before_the_next_is_loaded() -> None:
    lines = ported_lines(LATE.replace("    total = tl.exp2(total - x)\n", "").replace("dot(total,", "dot(x,"))
    loaded = next(index for index, line in enumerate(lines) if line.startswith("x = gl.load("))
    assert lines[loaded + 1] == "x_smem = dot_operand(x, 0, acc_layout)"
    assert lines[loaded + 2].startswith("y = gl.load(")
    assert lines[loaded + 3 : loaded + 5] == [
        "y_smem = dot_operand(y, 1, acc_layout)",
        "acc = dot(x_smem, y_smem, acc)",
    ]


@pytest.mark.parametrize("turned", ["tl.trans(x)", "x.T", "tl.permute(x, (1, 0))"])
def test_dots_that_read_a_tile_and_its_transpose_share_it(turned: str) -> None:
    text = "\n".join(ported_lines(BOTH_SIDES.format(turned=turned)))
    assert text.count("dot_operands(x, ") == 1
    assert "gram = dot_new(x_smem, x_smem.permute((1, 0)), gram_layout)" in text
    assert "acc = dot(gram, x_smem, acc)" in text


def test_what_a_tile_is_used_for_besides_does_not_move_it() -> None:
    """A tile that something else reads first is in registers anyway, and moves down to there."""
    body = LATE.replace("total - x)", "total - x) + tl.sum(y)").replace(
        "    total", "    z = tl.dot(x, x.T)\n    total"
    )
    lines = ported_lines(body.replace("tl.dot(total, y, acc)", "tl.dot(total, y, acc) + z"))
    loaded = next(index for index, line in enumerate(lines) if line.startswith("y = gl.load("))
    assert lines[loaded + 1] == "y_smem = dot_operand(y, 1, acc_layout)"
    assert lines[loaded + 2].startswith("total = gl.exp2(")


CALLED = """
x = tl.load(x_ptr + rows[:, None] * BN + cols[None, :])
acc = tl.zeros([BM, BM], dtype=tl.float32)
acc = walk(acc, x, y_ptr, rows, cols, steps, BM, BN)
acc = walk(acc, x, y_ptr + BM * BN, rows, cols, steps, BM, BN)
tl.store(out_ptr + rows[:, None] * BM + rows[None, :], acc)
"""


def test_a_helper_takes_what_its_dots_alone_read_in_shared_memory() -> None:
    text = "\n".join(ported_lines(CALLED, HELPER))
    assert "sums = dot_new(x, y_smem, " in text
    assert text.count("x_smem = dot_operand(x, 0, ") == 1
    assert "walk(acc, x_smem, y_ptr," in text
    assert "walk(acc, x_smem, y_ptr + BM * BN," in text


def test_a_helper_takes_an_index_vector_once_for_each_layout() -> None:
    text = "\n".join(ported_lines(CALLED, HELPER))
    helper = text[: text.index("def kernel(")]
    assert "convert_layout" not in helper
    assert "rows, cols, steps, BM: gl.constexpr, BN: gl.constexpr, rows_y, y_layout: gl.constexpr" in helper
    assert text.count("rows_y=rows_y, y_layout=y_layout)") == 2


@pytest.mark.parametrize(
    "body", [LATE, *(BOTH_SIDES.format(turned=turned) for turned in ("tl.trans(x)", "x.T"))], ids=["late", "trans", "T"]
)
def test_the_port_computes_the_same_bits(body: str, tmp_path: Path) -> None:
    assert_same_numbers(kernel_text(ROWS + body, PARAMETERS), tmp_path)


def test_a_helper_computes_the_same_bits(tmp_path: Path) -> None:
    text = kernel_text(ROWS + CALLED, PARAMETERS)
    text = text.replace("\n\n\n@triton.jit\n", f"\n\n\n{HELPER.strip()}\n\n\n@triton.jit\n", 1)
    assert_same_numbers(text, tmp_path)


def test_a_load_that_only_indices_follow_stays_where_it_is() -> None:
    body = LATE.replace("total - x)", "total)").replace("    y = ", "    z = rows[:, None] * BN\n    y = ")
    lines = ported_lines(body.replace("acc = tl.dot(total, y, acc)", "acc = tl.dot(total + x + z, y, acc)"))
    loads = [index for index, line in enumerate(lines) if " = gl.load(" in line]
    computed = next(index for index, line in enumerate(lines) if line.startswith("total = gl.exp2("))
    assert lines[loads[0]].startswith("y = ")
    assert lines[loads[1]].startswith("x = ")
    assert loads[0] < computed < loads[1]
    near = ported_lines(LATE.replace("    y = ", "    z = rows[:, None] * BN\n    y = ").replace("- x)", "- x - z)"))
    loads = [index for index, line in enumerate(near) if " = gl.load(" in line]
    assert near[loads[0]].startswith("x = ")


MASKED = """
acc = tl.zeros([BM, BM], dtype=tl.float32)
for step in range(steps):
    place = step * BN + cols
    x = tl.load(x_ptr + rows[:, None] * BN + place[None, :], mask=place[None, :] < 90, other=0.0)
    y = tl.load(y_ptr + place[:, None] * BM + rows[None, :], mask=place[:, None] < 90, other=0.0)
    gram = tl.dot(tl.trans(x), x)
    {before}seen = place[None, :] < 90
    acc = tl.dot(tl.where(seen, gram, 0.0), y, acc)
tl.store(out_ptr + rows[:, None] * BM + rows[None, :], acc)
"""


def test_a_mask_that_a_load_has_too_is_made_before_it() -> None:
    lines = ported_lines(MASKED.format(before=""))
    made = next(index for index, line in enumerate(lines) if line.startswith("seen = "))
    assert lines[made + 1].startswith("x = gl.load(")


def test_a_mask_stays_below_what_its_names_are_given() -> None:
    lines = ported_lines(MASKED.format(before="place = place + 1\n    "))
    made = next(index for index, line in enumerate(lines) if line.startswith("seen = "))
    assert made > next(index for index, line in enumerate(lines) if line.startswith("gram = "))
