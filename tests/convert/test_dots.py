"""Where the operands of dots are put in shared memory, and what a compile-time choice between tiles costs them."""

import pytest

from tests.convert.kernels import kernel_text, ported

INDICES = """
m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
a_ptrs = a_ptr + m[:, None] * BK + k[None, :]
b_ptrs = b_ptr + k[:, None] * BN + n[None, :]
acc = tl.zeros((BM, BN), dtype=tl.float32)
"""
STORE = "tl.store(c_ptr + m[:, None] * BN + n[None, :], acc)\n"
PARAMETERS = "a_ptr, b_ptr, c_ptr, steps, T: tl.constexpr, P: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, "
PARAMETERS += "BK: tl.constexpr"


def dots(statements: str) -> str:
    """The lines of the ported kernel that have to do with its dots, from `acc = zeros` on, without layouts."""
    port = ported(kernel_text(INDICES + statements + STORE, PARAMETERS))
    lines = port[port.index("def kernel(") :].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("    acc = gl.zeros("))
    kept = [line[4:] for line in lines[start + 1 :] if line.strip()]
    return "\n".join(kept[: next(i for i, line in enumerate(kept) if line.startswith("gl.store("))])


def test_operands_go_to_shared_memory_where_they_are_loaded() -> None:
    before = """
for _ in range(steps):
    a = tl.load(a_ptrs)
    b = tl.load(b_ptrs)
    acc = tl.dot(a, b, acc)
"""
    after = """
for _ in range(steps):
    a = gl.load(a_ptrs)
    a_smem = dot_operand(a, 0, acc_layout)
    b = gl.load(b_ptrs)
    b_smem = dot_operand(b, 1, acc_layout)
    acc = dot(a_smem, b_smem, acc)
"""
    assert dots(before) == after.strip()


def test_one_copy_serves_two_dots() -> None:
    before = """
a = tl.load(a_ptrs)
for _ in range(steps):
    b = tl.load(b_ptrs)
    acc = tl.dot(a, b, acc)
    acc = tl.dot(a, b * 2, acc)
"""
    after = """
a = gl.load(a_ptrs)
a_smem = dot_operand(a, 0, acc_layout)
for _ in range(steps):
    b = gl.load(b_ptrs)
    b_smem = dot_operand(b, 1, acc_layout)
    acc = dot(a_smem, b_smem, acc)
    acc = dot(a_smem, b * 2, acc)
"""
    assert dots(before) == after.strip()


def test_a_tile_that_a_loop_carries_stays_in_registers() -> None:
    before = """
a = tl.load(a_ptrs)
b = tl.load(b_ptrs)
for _ in range(steps):
    acc = tl.dot(a, b, acc)
    a = tl.load(a_ptrs)
    acc = tl.dot(a, b, acc)
"""
    after = """
a = gl.load(a_ptrs)
b = gl.load(b_ptrs)
b_smem = dot_operand(b, 1, acc_layout)
for _ in range(steps):
    acc = dot(a, b_smem, acc)
    a = gl.load(a_ptrs)
    acc = dot(a, b_smem, acc)
"""
    assert dots(before) == after.strip()


@pytest.mark.parametrize(
    ("precision", "operand", "call"),
    [
        ("P", ", P", "dot_as({a}_smem, {b}_smem, acc, P, True)"),
        ('"tf32"', ', "tf32"', 'dot_as({a}_smem, {b}_smem, acc, "tf32", True)'),
        ('"ieee"', ', "ieee"', 'dot_as({a}_smem, {b}_smem, acc, "ieee", True)'),
        # Three dots of tf32 take their operands apart, in registers.
        ('"tf32x3"', None, 'dot_as({a}, {b}, acc, "tf32x3", True)'),
    ],
)
def test_the_precision_decides_where_operands_are(precision: str, operand: str | None, call: str) -> None:
    before = f"""
a = tl.load(a_ptrs)
b = tl.load(b_ptrs)
acc = tl.dot(a, b, acc, input_precision={precision})
"""
    staged = (
        []
        if operand is None
        else [f"{x}_smem = dot_operand({x}, {i}, acc_layout{operand})" for i, x in ((0, "a"), (1, "b"))]
    )
    lines = ["a = gl.load(a_ptrs)", *staged[:1], "b = gl.load(b_ptrs)", *staged[1:]]
    assert dots(before) == "\n".join([*lines, f"acc = {call.format(a='a', b='b')}"])


def test_each_branch_of_a_compile_time_choice_keeps_its_layout() -> None:
    before = """
b = tl.load(b_ptrs)
if T:
    a = tl.trans(tl.load(a_ptr + k[:, None] * BM + m[None, :]))
else:
    a = tl.load(a_ptrs)
acc = tl.dot(a, b, acc)
"""
    after = """
b = gl.load(b_ptrs)
b_smem = dot_operand(b, 1, acc_layout)
if T:
    a = gl.permute(gl.load(a_ptr + k_a[:, None] * BM + m_a[None, :]), (1, 0))
    a_smem = dot_operand(a, 0, acc_layout)
else:
    a = gl.load(a_ptrs)
    a_smem = dot_operand(a, 0, acc_layout)
acc = dot(a_smem, b_smem, acc)
"""
    assert dots(before) == after.strip()


def test_a_compile_time_test_picks_the_type_of_the_operands() -> None:
    statements = (
        "a = tl.load(a_ptrs)\nif T == 1:\n    a = a.to(tl.float32)\nacc += tl.dot(a, tl.load(b_ptrs).to(a.dtype))\n"
    )
    port = ported(kernel_text(INDICES + statements + STORE, PARAMETERS))
    (layout,) = [part for part in port.split("gl.constexpr = ") if part.startswith("mma_layout(")]
    assert "[BM, BN], BK, gl.float32 if T == 1 else a_ptr.dtype.element_ty, " in " ".join(layout.split())


def test_a_choice_without_a_second_branch_is_not_put_there_twice() -> None:
    before = """
b = tl.load(b_ptrs)
a = tl.load(a_ptr + k[:, None] * BM + m[None, :])
if T:
    a = tl.trans(a)
acc = tl.dot(a, b, acc)
"""
    after = """
b = gl.load(b_ptrs)
b_smem = dot_operand(b, 1, acc_layout)
a = gl.load(a_ptr + k_a[:, None] * BM + m_a[None, :])
if T:
    a = gl.permute(a, (1, 0))
acc = dot(a, b_smem, acc)
"""
    assert dots(before) == after.strip()


def test_what_only_a_branch_needs_is_not_put_there_before_it() -> None:
    before = """
a = tl.load(a_ptrs)
b = tl.load(b_ptrs)
if T:
    acc = tl.dot(a, b, acc)
else:
    acc += 1.0
    a2 = tl.load(a_ptrs)
    for _ in range(steps):
        acc = tl.dot(a2, b, acc)
"""
    after = """
a = gl.load(a_ptrs)
b = gl.load(b_ptrs)
b_smem = dot_operand(b, 1, acc_layout)
if T:
    acc = dot(a, b_smem, acc)
else:
    acc += 1.0
    a2 = gl.load(a_ptrs)
    a2_smem = dot_operand(a2, 0, acc_layout)
    for _ in range(steps):
        acc = dot(a2_smem, b_smem, acc)
"""
    assert dots(before) == after.strip()


@pytest.mark.parametrize(
    ("test", "use", "conversions"),
    [
        # At run time both branches exist, and the variable has one type; so it has where more than dots read it.
        ("if steps > 2", "", 1),
        ("if T", "acc += tl.sum(a.to(tl.float32), 1)[:, None]\n", 2),
    ],
)
def test_otherwise_branches_meet_in_one_layout(test: str, use: str, conversions: int) -> None:
    before = f"""
b = tl.load(b_ptrs)
{test}:
    a = tl.trans(tl.load(a_ptr + k[:, None] * BM + m[None, :]))
else:
    a = tl.load(a_ptrs)
acc = tl.dot(a, b, acc)
{use}
"""
    assert dots(before).count("convert_layout") == conversions


C = "tl.load(c_ptr + m[:, None] * BN + n[None, :])"


@pytest.mark.parametrize(
    ("added", "written"),
    [
        (f"{C}.to(tl.float32)", "gl.convert_layout({C}, acc_layout).to(gl.float32)"),
        (f"2 * (-{C}.to(tl.float32))", "2 * (-gl.convert_layout({C}, acc_layout).to(gl.float32))"),
        (f"tl.cast({C}, tl.float32) / steps", "gl.cast(gl.convert_layout({C}, acc_layout), gl.float32) / steps"),
        # What is made narrower is converted after that, and so is what takes more than one tile.
        (f"{C}.to(tl.float16)", "gl.convert_layout({C}.to(gl.float16), acc_layout)"),
        (f"({C} * {C}).to(tl.float16)", "gl.convert_layout(({C} * {C}).to(gl.float16), acc_layout)"),
        (f"{C} * {C}.to(tl.float32)", "gl.convert_layout({C} * {C}.to(gl.float32), acc_layout)"),
    ],
)
def test_a_tile_is_converted_before_it_is_widened(added: str, written: str) -> None:
    lines = dots(f"acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))\nacc += {added}\n")
    load = "gl.load(c_ptr + m_c[:, None] * BN + n_c[None, :])"
    # The dot starts its sums from it.
    start = "".join(f", {written.format(C=load)}".split())
    found = "".join(lines.split()).replace(",)", ")")
    assert found.startswith("acc=dot_") and found.endswith((f"{start})", f"{start},acc_layout)"))


def test_pointers_of_a_type_that_is_an_argument() -> None:
    statements = """
p = tl.load(table_ptr).to(tl.pointer_type(DTYPE))
m, n = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(p + m[:, None] * BN + n[None, :])
y = tl.dot(x, tl.trans(x))
tl.store(out_ptr + m[:, None] * BM + m[None, :], y)
"""
    port = ported(
        kernel_text(statements, "table_ptr, out_ptr, DTYPE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr")
    )
    assert "x_layout: gl.constexpr = coalesced([BM, BN], DTYPE.primitive_bitwidth, [1, 0], gl.num_warps())" in port
    assert "y_layout: gl.constexpr = mma_layout([BM, BM], BN, DTYPE, gl.num_warps(), F32_PRECISION)" in port


DESCRIPTORS = """
a_desc = tl.make_tensor_descriptor(a_ptr, [BM, steps], [steps, 1], [BM, BK])
if T:
    b_desc = tl.make_tensor_descriptor(b_ptr, [BN, steps], [steps, 1], [BN, BK])
else:
    b_desc = tl.make_tensor_descriptor(b_ptr, [steps, BN], [BN, 1], [BK, BN])
c_desc = tl.make_tensor_descriptor(c_ptr, [BM, BN], [BN, 1], [BM, BN])
acc = tl.zeros((BM, BN), dtype=tl.float32)
for k in range(steps):
    a = a_desc.load([0, k])
    if T:
        b = b_desc.load([0, k]).T
    else:
        b = {other}
    acc = tl.dot(a, b, acc)
{use}
c_desc.store([0, 0], acc)
"""
TILE = "b_desc.load([k, 0])"


@pytest.mark.parametrize(
    ("other", "use", "first", "second"),
    [
        (
            TILE,
            "",
            "tma_operand(b_desc, [0, k], True, F32_PRECISION).permute((1, 0))",
            "tma_operand(b_desc, [k, 0], False",
        ),
        # All of the choice stands in shared memory, or nothing does.
        (f"{TILE} * 2", "", "tma_load(b_desc, [0, k], ", "tma_load(b_desc, [k, 0], "),
        (TILE, "    acc += tl.sum(b.to(tl.float32))", "tma_load(b_desc, [0, k], ", "tma_load(b_desc, [k, 0], "),
    ],
)
def test_a_choice_between_tiles_of_descriptors(other: str, use: str, first: str, second: str) -> None:
    port = ported(kernel_text(DESCRIPTORS.format(other=other, use=use), PARAMETERS))
    assert "a = tma_operand(a_desc, [0, k], True, F32_PRECISION)" in port
    kernel = port[port.index("def kernel(") :]
    lines = [line.strip() for line in kernel.splitlines() if line.strip().startswith("b = ")]
    assert len(lines) == 2 and first in lines[0] and second in lines[1]
