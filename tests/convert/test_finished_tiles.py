"""Tiles that several assignments make, or a dot, and that a dot reads further down from shared memory."""

from pathlib import Path

import pytest

from tests.convert.kernels import assert_same_numbers, convert, kernel_text

HEAD = """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
state = tl.zeros([BN, BM], dtype=tl.float32)
total = tl.zeros([BM, BN], dtype=tl.float32)
"""
TAIL = "tl.store(out_ptr + cols[:, None] * BM + rows[None, :], state)\n"
SCALED = """
for step in range(steps):
    x = tl.load(x_ptr + (step * BM + rows[:, None]) * BN + cols[None, :])
    x = x * 2.0
    if BM > 8:
        x = x + 1.0
    y = tl.load(y_ptr + (step * BM + rows[:, None]) * BN + cols[None, :])
    total += y
    state = tl.dot(tl.trans(x), tl.dot(y, tl.trans(y)), state)
"""
CHAIN = """
for step in range(steps):
    x = tl.load(x_ptr + (step * BM + rows[:, None]) * BN + cols[None, :])
    gram = tl.dot(x, tl.trans(x))
    gram = gram.to(tl.float32)
    y = tl.load(y_ptr + (step * BM + cols[:, None]) * BM + rows[None, :])
    state = tl.dot({left}, {right}, state)
    if BN > 8:
        state = tl.dot(y, gram, state)
"""
BRANCHES = """
for step in range(steps):
    x = tl.load(x_ptr + (step * BM + rows[:, None]) * BN + cols[None, :])
    gram = tl.dot(x, tl.trans(x))
    gram = gram.to(tl.float32)
    y = tl.load(y_ptr + (step * BM + cols[:, None]) * BM + rows[None, :])
    if BN > 8:
        state += tl.dot(y, gram)
    {otherwise}:
        state = tl.dot(y, gram, state)
    if BM > 8:
        state = tl.dot(y, gram, state)
"""
PARAMETERS = "x_ptr, y_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr"


def kernel(loop: str) -> str:
    return kernel_text(HEAD + loop.lstrip() + TAIL, PARAMETERS)


def ported_lines(loop: str) -> list[str]:
    port = convert(kernel(loop)).text
    return [line.strip() for line in port[port.index("def kernel(") :].splitlines()]


def test_a_tile_that_a_branch_changes_goes_to_shared_memory_behind_it() -> None:
    lines = ported_lines(SCALED)
    changed = lines.index("x = x + 1.0")
    assert lines[changed + 1] == "x_smem = dot_operand(x, 1, state_layout)"
    assert lines[changed + 2].startswith("y = gl.load(")
    assert sum(line.startswith("x_smem = ") for line in lines) == 1
    assert any("dot(x_smem.permute((1, 0))," in line for line in lines)


def test_the_result_of_a_dot_goes_there_if_it_is_the_right_operand_of_the_next() -> None:
    lines = ported_lines(CHAIN.format(left="y", right="gram"))
    made = next(index for index, line in enumerate(lines) if line.startswith("gram_smem = dot_operand(gram, 1, "))
    assert lines[made - 1].startswith("gram = ")
    assert lines[made + 1].startswith("y = gl.load(")
    assert sum("gram_smem, state)" in line for line in lines) == 2, "a branch reads the same copy"


@pytest.mark.parametrize(("otherwise", "staged"), [("else", True), ("elif BN > 4", False)])
def test_one_that_either_branch_reads_goes_there_once(otherwise: str, staged: bool) -> None:
    lines = ported_lines(BRANCHES.format(otherwise=otherwise))
    made = [index for index, line in enumerate(lines) if line.startswith("gram_smem = dot_operand(gram, 1, ")]
    assert len(made) == staged
    assert sum("gram_smem" in line for line in lines) == (4 if staged else 0)
    assert not staged or lines[made[0] - 1].startswith("gram = ")


def test_the_result_of_a_dot_stays_in_registers_for_the_left_operand() -> None:
    loop = CHAIN.format(left="gram", right="y").replace("    if BN > 8:\n        state = tl.dot(y, gram, state)\n", "")
    text = "\n".join(ported_lines(loop.replace("cols[:, None]) * BM + rows", "rows[:, None]) * BM + rows")))
    assert "dot(gram, " in text
    assert "gram_smem" not in text


def test_a_tile_that_the_next_statement_reads_stays() -> None:
    moved = SCALED.replace("    total += y\n", "").replace("tl.dot(y, tl.trans(y))", "gram")
    y = "    y = tl.load(y_ptr + (step * BM + rows[:, None]) * BN + cols[None, :])\n"
    loop = moved.replace(y, "").replace("    x = tl.load", y + "    gram = tl.dot(y, tl.trans(y))\n    x = tl.load")
    assert "x_smem" not in "\n".join(ported_lines(loop))


def test_a_tile_is_read_as_it_was_where_it_was_read() -> None:
    again = SCALED + "    x = x - 1.0\n    total += x\n    state = tl.dot(tl.trans(x), tl.dot(y, tl.trans(y)), state)\n"
    lines = ported_lines(again)
    first, second = (lines.index(line) for line in ("x = x + 1.0", "x = x - 1.0"))
    names = [lines[place + 1].partition(" = dot_operand(x, 1, state_layout)")[0] for place in (first, second)]
    assert len(set(names)) == 2
    assert [line.partition("dot(")[2].partition(".")[0] for line in lines if line.startswith("state = dot(")] == names


@pytest.mark.parametrize("loop", [SCALED, CHAIN.format(left="y", right="gram")], ids=["branch", "chain"])
def test_the_port_computes_the_same_bits(loop: str, tmp_path: Path) -> None:
    assert_same_numbers(kernel(loop), tmp_path)
