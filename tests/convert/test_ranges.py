"""Index ranges in loops: made before the loop, as Triton's compiler moves them there."""

import pytest

from tests.convert.kernels import HEAD, convert

LOOP = "for i in range(n):"
DOT = """x = tl.load(x_ptr + o[:, None] * 32 + r[None, :])
y = tl.load(y_ptr + r[:, None] * 64 + o[None, :])
acc += tl.dot(x, y)
"""


def written(body: str, loop: str = LOOP, before: str = "", dot: str = DOT) -> tuple[list[str], list[str]]:
    """The lines that are written before a loop over `body` and a dot, and those in it and behind it."""
    inside = "".join(f"        {line}\n" for line in (body + "\n" + dot).splitlines())
    head = f"    r = tl.arange(0, 32)\n    s = tl.arange(0, 64)\n{before}    acc = tl.zeros((64, 64), tl.float32)\n"
    store = "    tl.store(x_ptr + s[:, None] * 64 + s[None, :], acc)\n"
    signature = "def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, ON: tl.constexpr):\n"
    conversion = convert(f"{HEAD}{signature}{head}    {loop}\n{inside}{store}")
    assert conversion.diagnostics == ()
    lines = [line.strip() for line in conversion.text[conversion.text.index("def kernel(") :].splitlines()]
    place = lines.index(loop)
    return lines[:place], lines[place:]


def test_a_range_is_made_once_before_the_loop() -> None:
    before, inside = written("o = i * 64 + tl.arange(0, 64)")
    assert not any("arange" in line for line in inside)
    ranges = [line for line in before if "_in_block = gl.arange(0, 64, layout=" in line]
    names = [line.split(" = ")[0] for line in ranges]
    assert len(names) == 2
    assert all(f"{name.removesuffix('_in_block')} = i * 64 + {name}" in inside for name in names)


def test_a_variable_that_is_a_range_moves_as_it_is() -> None:
    before, inside = written("# the columns\no = tl.arange(0, 64)")
    moved = [line for line in before if line.startswith("o_") and "= gl.arange(0, 64, layout=" in line]
    assert len(moved) == 2
    assert before[before.index(moved[0]) - 1] == "# the columns"
    assert not any("arange" in line or "in_block" in line for line in inside)


@pytest.mark.parametrize(
    ("body", "before"),
    [
        # Assigned elsewhere too, or read before it is assigned: what the loop leaves in it is another value.
        ("o = tl.arange(0, 64)", "    o = tl.arange(0, 64) + 1\n    tl.store(y_ptr + o, o)\n"),
        # For some values of a constexpr there may be no such range.
        ("o = s\nif ON:\n    o = i + tl.arange(0, 64)", ""),
    ],
)
def test_what_may_be_no_range_before_the_loop_stays(body: str, before: str) -> None:
    _, inside = written(body, before=before)
    assert any("gl.arange(0, 64, layout=" in line for line in inside)


def test_what_the_loop_changes_stays() -> None:
    body = "size: tl.constexpr = 64\no = i * 64 + tl.arange(0, size)"
    _, inside = written(body)
    assert any("gl.arange(0, size, layout=" in line for line in inside)


ROWS = "o = i * 64 + tl.arange(0, 64)"


def test_a_loop_without_dots_stays_as_it_is() -> None:
    _, inside = written(ROWS, dot="tl.store(y_ptr + o, o)")
    assert any("gl.arange(0, 64, layout=" in line for line in inside)


@pytest.mark.parametrize(("size", "moved"), [("64", 2), ("32", 0)])
def test_loops_without_dots_that_make_one_range_have_it_before_them(size: str, moved: int) -> None:
    first = f"    for j in range(n):\n        p = j * 64 + tl.arange(0, {size})\n        tl.store(y_ptr + p, p)\n"
    before, inside = written(ROWS, before=first, dot="tl.store(y_ptr + o, o)")
    assert sum("_in_block = gl.arange(0, 64, layout=" in line for line in before) == moved
    assert any("gl.arange(" in line for line in inside) == (moved == 0)


@pytest.mark.parametrize("outer", ["for j in range(n):", "while n > 1:"])
def test_out_of_all_loops_that_have_the_dot(outer: str) -> None:
    nested = "".join(f"    {line}\n" for line in ("o = i * 64 + tl.arange(0, 64)\n" + DOT).splitlines())
    before, inside = written(f"{LOOP}\n{nested}n -= 1", outer, dot="")
    assert sum("_in_block = gl.arange(0, 64, layout=" in line for line in before) == 2
    assert not any("arange" in line for line in inside)


def test_the_blank_line_above_the_loop_stays_above_all() -> None:
    lines = "".join(f"        {line}\n" for line in ("o = i * 64 + tl.arange(0, 64)\n" + DOT).splitlines())
    head = "    r = tl.arange(0, 32)\n    acc = tl.zeros((64, 64), tl.float32)\n\n    # over the blocks\n"
    store = "    tl.store(x_ptr, tl.sum(acc))\n"
    text = convert(f"{HEAD}def kernel(x_ptr, y_ptr, n):\n{head}    {LOOP}\n{lines}{store}").text
    above, _, _ = text.partition(f"    # over the blocks\n    {LOOP}\n")
    assert above != text
    ranges = above.rsplit("\n\n", 1)[1].splitlines()
    assert len(ranges) == 2 and all("_in_block = gl.arange(" in line for line in ranges)
