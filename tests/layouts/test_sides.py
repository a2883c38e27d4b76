"""Vectors of a loop between tiles: whose layout they have, and which of them are converted."""

import re

import pytest

from tests.convert.kernels import HEAD, VERSION, convert

# A state that a flag transposes.
TURNED = """
def kernel(x_ptr, y_ptr, out_ptr, steps, K: tl.constexpr, V: tl.constexpr, TURN: tl.constexpr):
    k = tl.arange(0, K)
    v = tl.arange(0, V)
    if TURN:
        state = tl.zeros([V, K], tl.float32)
    else:
        state = tl.zeros([K, V], tl.float32)
    for i in range(steps):
        x = tl.load(x_ptr + i * K + k)
        y = tl.load(y_ptr + i * V + v)
        if TURN:
            state = state * tl.exp(x[None, :]) + y[:, None]
            out = tl.sum(state * x[None, :], axis=1)
        else:
            state = state * tl.exp(x[:, None]) + y[None, :]
            out = tl.sum(state * x[:, None], axis=0)
        tl.store(out_ptr + i * V + v, out.to(tl.bfloat16))
"""
# The row of a triangle's inverse: a sum over rows, once read as a column.
SUBSTITUTED = """
def kernel(a_ptr, out_ptr, N: tl.constexpr, GATHER: tl.constexpr):
    rows = tl.arange(0, N)
    places = rows[:, None] * N + rows[None, :]
    a = tl.load(a_ptr + places)
    for i in range(1, N):
        mask = rows == i
        if GATHER:
            row = tl.sum(tl.gather(a, tl.full([1, N], i, tl.int16), 0), 0)
        else:
            row = tl.sum(tl.where(mask[:, None], a, 0), 0)
        row = row + tl.sum(row[:, None] * a, 0) * (rows < i)
        a = tl.where(mask[:, None], row, a)
    tl.store(out_ptr + places, a)
"""
# A column that is read for one tile, and of which a factor of another one is made.
DECAYED = """
def kernel(q_ptr, z_ptr, do_ptr, out_ptr, steps, N: tl.constexpr):
    rows = tl.arange(0, N)
    places = rows[:, None] * N + rows[None, :]
    acc = tl.zeros([N, N], tl.float32)
    last = tl.full([N], 0.0, tl.float32)
    for i in range(steps):
        z = tl.load(z_ptr + i * N + rows)
        q = tl.load(q_ptr + i * N + rows[:, None] + rows[None, :] * N) * tl.exp(z)[:, None]
        factor = tl.exp(z - last)
        last = z
        acc = acc * factor[:, None]
        acc += tl.dot(q.to(tl.bfloat16), tl.load(do_ptr + places))
    tl.store(out_ptr + places, acc)
"""
# A column that is read before the loop whose tile takes it, and one that the loop reads.
BEFORE = """
def kernel(u_ptr, k_ptr, out_ptr, steps, K: tl.constexpr, V: tl.constexpr):
    k = tl.arange(0, K)
    v = tl.arange(0, V)
    u = tl.load(u_ptr + {0}).to(tl.float32)
    k_ptrs = k_ptr + k
    state = tl.load(out_ptr + k[:, None] * V + v[None, :])
    for _ in range(steps):
        state = state * {1} + tl.load(k_ptrs)[:, None]
        k_ptrs += K
    tl.store(out_ptr + k[:, None] * V + v[None, :], state)
"""

# A column that a flag scales by its length before the tile takes it.
SCALED = """
def kernel(k_ptr, out_ptr, steps, K: tl.constexpr, V: tl.constexpr, NORM: tl.constexpr, DECAY: tl.constexpr):
    k = tl.arange(0, K)
    v = tl.arange(0, V)
    k_ptrs = k_ptr + k
    state = tl.load(out_ptr + k[:, None] * V + v[None, :])
    for _ in range(steps):
        x = tl.load(k_ptrs, mask=k < K).to(tl.float32)
        if NORM:
            x = x / tl.sqrt(tl.sum(x * x))
        {}
        state = state * x[:, None]
        k_ptrs += K
    tl.store(out_ptr + k[:, None] * V + v[None, :], state)
"""


def _port(text: str) -> str:
    """The kernel of a port, without the functions above it."""
    return convert(HEAD + text.lstrip(), VERSION).text.partition("\ndef kernel(")[2]


def _loop(text: str) -> str:
    """The lines of its loop."""
    found = re.search(r"\n    for .*?(?=\n    \S|\Z)", _port(text), re.DOTALL)
    assert found is not None
    return found[0]


def test_a_row_meets_the_state_that_a_flag_transposes() -> None:
    loop = _loop(TURNED)
    assert "state * gl.exp(x_cols[None, :])" in loop and "state * gl.exp(x_rows[:, None])" in loop


def test_a_sum_along_either_side_is_converted_where_it_is_stored() -> None:
    loop = _loop(TURNED)
    assert loop.count("convert_layout") == 1
    assert re.search(r"gl\.store\(out_ptr \+ .*, gl\.convert_layout\(out\.to\(gl\.bfloat16\), \w+\)\)", loop)


@pytest.mark.parametrize("reader", ["tl.store(out_ptr + v, out)", "state += out[:, None] if TURN else out[None, :]"])
def test_a_sum_that_more_than_one_store_reads_has_one_layout(reader: str) -> None:
    loop = _loop(TURNED + f"        {reader}\n")
    assert re.search(r"out\w* = gl\.convert_layout\(\s*gl\.sum", loop)


def test_a_row_that_is_read_as_a_column_once_is_converted_there() -> None:
    loop = _loop(SUBSTITUTED)
    assert loop.count("convert_layout") == 1
    assert re.search(r"gl\.convert_layout\(row, gl\.SliceLayout\(1, layout\)\)\[:, None\] \* a", loop)


def test_a_column_that_is_read_again_is_not_what_keeps_its_factor() -> None:
    loop = _loop(DECAYED)
    assert len(re.findall(r"z\w* = gl\.load\(z_ptr", loop)) == 2
    assert "convert_layout" not in loop


def test_a_column_is_read_before_a_loop_as_the_loop_reads_its_own() -> None:
    text = _port(BEFORE.format("k", "u[:, None]"))
    assert re.search(r"u = gl\.convert_layout\(gl\.load\(u_ptr \+ k_\w+\), gl\.SliceLayout\(1, \w+\)\)", text)
    assert "u_bits: gl.constexpr = element_bits(u_ptr, k_ptr)\n" in text and "vector_layout(K, u_bits" in text


@pytest.mark.parametrize(("index", "factor"), [("v", "u[None, :]"), ("k", "(u + tl.load(k_ptr + k))[:, None]")])
def test_a_row_and_what_a_loop_reckons_with_are_read_in_the_slice(index: str, factor: str) -> None:
    text = _port(BEFORE.format(index, factor))
    assert re.search(r"u = gl\.load\(u_ptr \+ \w+\)\.to", text)


def test_what_a_flag_scales_is_reckoned_where_it_is_read() -> None:
    loop = _loop(SCALED.format(""))
    assert re.search(r"x = gl\.load\(k_ptrs, mask=\w+ < K\)\.to", loop) and loop.count("convert_layout") == 1
    assert re.search(r"state = state \* gl\.convert_layout\(x, gl\.SliceLayout\(1, \w+\)\)\[:, None\]", loop)


def test_what_a_flag_makes_a_number_is_reckoned_in_the_slice() -> None:
    choice = "if DECAY:\n            y = tl.load(k_ptrs + steps * K)\n        else:\n            y = tl.load(k_ptr)"
    loop = _loop(SCALED.format(f"{choice}\n        x *= y"))
    assert re.search(r"x = gl\.convert_layout\(gl\.load\(k_ptrs, mask=\w+ < K\), gl\.SliceLayout", loop)
