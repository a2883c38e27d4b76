"""Stage tma: names with several values, and tiles that branches load."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import libcst as cst
import torch

from tests.upgrade.test_tma import run, upgraded
from tritonport.upgrade.values import readers_of

TWO_LOOPS = """
import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(a_ptr, b_ptr, c_ptr, K: tl.constexpr, SCALED: tl.constexpr, BY_COLUMNS: tl.constexpr):
    rows = tl.arange(0, 32)
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K // 2, 16):
        offs = k + tl.arange(0, 16)
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :])
        if BY_COLUMNS:
            b = tl.trans(tl.load(b_ptr + rows[:, None] * K + offs[None, :]))
        else:
            b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :])
        if SCALED:
            s = tl.load(c_ptr + rows[:, None] * 32 + offs[None, :])
            a = (a * s).to(a.dtype)
        acc = tl.dot(a, b, acc)
    for k in range(K // 2, K, 16):
        offs = k + tl.arange(0, 16)
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :])
        b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :])
        acc += 2 * tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * 32 + rows[None, :], acc)


def launch(a, b, scaled=False, by_columns=False):
    c = torch.empty((32, 32), dtype=torch.float32)
    sums_kernel[(1,)](a, b, c, a.shape[1], SCALED=scaled, BY_COLUMNS=by_columns)
    return c
"""
PLAIN = TWO_LOOPS.replace(
    TWO_LOOPS[TWO_LOOPS.index("        if BY_COLUMNS") : TWO_LOOPS.index("        acc = tl.dot(a, b, acc)")],
    "        b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :])\n",
)


def tiles_of(text: str) -> str:
    return text[text.index("def sums_kernel_tiles(") : text.rindex("def sums_kernel(")]


def check(text: str, folder: Path, scaled: bool = False, by_columns: bool = False) -> None:
    torch.manual_seed(0)
    a, b = (torch.randint(-3, 4, size).to(torch.float16) for size in ((32, 64), (64, 32)))
    got, made = run(text, folder, a=a, b=b, scaled=scaled, by_columns=by_columns)
    one, other = a[:, :32].float(), b.view(32, 64)[:, :32].T if by_columns else b[:32]
    if scaled:
        one = one * b[:32].float()
    expected = one @ other.float() + 2 * a[:, 32:].float() @ b[32:].float()
    torch.testing.assert_close(got, expected, rtol=0, atol=0)
    assert made and all(made)


def test_two_loops_with_the_same_names_read_their_tiles_in_place(tmp_path: Path) -> None:
    text = upgraded(PLAIN).text
    tiles = tiles_of(text)
    for name in ("a", "b"):
        assert tiles.count(f"{name} = landed(") == 2
    check(text, tmp_path)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
def test_each_branch_copies_the_tile_that_it_loads(scaled: bool, by_columns: bool, tmp_path: Path) -> None:
    kernel = TWO_LOOPS.replace("(c_ptr + rows[:, None] * 32 + offs", "(b_ptr + rows[:, None] * 32 + offs")
    # Computed with in one branch alone, the two are not one matrix in two orders.
    computed = kernel.replace("rows[:, None] * K + offs[None, :]))", "rows[:, None] * K + offs[None, :]) + 0)")
    text = upgraded(computed).text
    tiles = tiles_of(text)
    assert "        else:\n            mbarrier.expect(b_ready_2," in tiles
    assert "    else:\n        b_tile_2 =" in tiles and "    else:\n        mbarrier.invalidate(b_ready_2)" in tiles
    assert tiles.count("b = landed(") == 2
    assert 'if args["SCALED"] else None' in text
    check(text, tmp_path, scaled, by_columns)


@pytest.mark.parametrize("scaled", [False, True])
def test_what_some_launches_compute_with_the_others_read_in_place(scaled: bool, tmp_path: Path) -> None:
    text = TWO_LOOPS.replace("(c_ptr + rows[:, None] * 32 + offs", "(b_ptr + rows[:, None] * 32 + offs")
    start, end = text.rindex("    for k in"), text.rindex("    tl.store(")
    text = text[:start] + text[start:end].replace("a = ", "left = ").replace("(a, b)", "(left, b)") + text[end:]
    found = upgraded(text).text
    assert "        a = a_tile.load(a_layout) if SCALED else landed(a_tile, 0, acc_layout)\n" in tiles_of(found)
    check(found, tmp_path, scaled)


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (["x = load(1)", "use(x)", "x = load(2)", "use(x, x)"], ["use(x)"]),
        (["for i in r:", "    x = load(1)", "    use(x)", "for i in r:", "    x = load(2)", "    no(x)"], ["use(x)"]),
        (["x = load(1)", "x = use(x)", "no(x)"], ["x = use(x)"]),
        (["x = load(1)", "for i in r:", "    use(x)", "    x = load(2)"], None),
        (["x = load(1)", "if c:", "    x = load(2)", "use(x)"], None),
        (["x = load(2)", "for i in r:", "    use(x)", "    x = load(1)"], None),
        (["if c:", "    x = load(1)", "else:", "    x = load(2)", "use(x)"], None),
        (["for i in r:", "    x = load(2)", "for i in r:", "    x = load(1)", "    use(x)"], ["use(x)"]),
    ],
)
def test_the_readers_of_one_value_of_a_name(lines: list[str], read: list[str] | None) -> None:
    function: Any = cst.parse_statement("def f():\n" + "".join(f"    {line}\n" for line in lines))
    calls: list[Any] = []

    class Finder(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            if isinstance(node.func, cst.Name) and node.func.value == "load" and node.args[0].value.value == "1":  # type: ignore[attr-defined]
                calls.append(node)

    function.visit(Finder())
    found = readers_of("x", calls[0], function)
    code = cst.Module([]).code_for_node
    assert (found if found is None else [code(one).strip() for one in found]) == read


CAST = PLAIN.replace("acc += 2 * tl.dot(a, b)", "acc += 2 * tl.dot(a.to(b.dtype), b)")


@pytest.mark.parametrize("kind", [torch.float16, torch.float32])
def test_a_tile_is_read_in_place_where_its_type_is_the_one_asked_for(kind: torch.dtype, tmp_path: Path) -> None:
    text = upgraded(CAST.replace("tl.dot(a, b, acc)", "tl.dot(a.to(b.dtype), b, acc)")).text
    tiles = tiles_of(text)
    assert tiles.count("of_type(a, b.dtype)") == 2
    assert tiles.count("a = landed(") == 2
    torch.manual_seed(0)
    a, b = (torch.randint(-3, 4, size) for size in ((32, 64), (64, 32)))
    got, made = run(text, tmp_path, a=a.to(kind), b=b.to(torch.float16))
    torch.testing.assert_close(got, a[:, :32].float() @ b[:32].float() + 2 * a[:, 32:].float() @ b[32:].float())
    assert made and all(made)


GROUPS = """
import torch
import triton
import triton.language as tl


@triton.jit
def groups_kernel(a_ptr, b_ptr, c_ptr, M, K: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    group = tl.program_id(1)
    rows, cols, steps = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
    a_ptr += (rows * K)[:, None] + (group[None] * K * M)[:, None]
    b_ptr += cols[None, :] + (group[None] * K)[None, :] * N
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        at = k + steps
        a = tl.load(a_ptr + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        b = tl.load(b_ptr + at[:, None] * N, mask=at[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + (group * M + rows)[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b):
    (G, M, K), N = a.shape, b.shape[2]
    c = torch.full((G, M, N), 7.0)
    groups_kernel[(triton.cdiv(M, 16), G)](a, b, c, M, K=K, N=N, BLOCK=16)
    return c
"""


def test_a_number_as_a_tensor_of_one_value_is_a_number(tmp_path: Path) -> None:
    found = upgraded(GROUPS)
    assert "spread(" in found.text and not [one.message for one in found.diagnostics if one.code.startswith("TP41")]
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (3, 24, 40)).half(), torch.randint(-3, 4, (3, 40, 32)).half()
    got, made = run(found.text, tmp_path, a=a, b=b)
    torch.testing.assert_close(got, a.float() @ b.float(), rtol=0, atol=0)
    assert made == [True] * 3


@pytest.mark.parametrize("wrong", ["(group[None] * K * steps[:1])", "(group + steps)"])
def test_a_tensor_of_several_values_is_none(wrong: str) -> None:
    found = upgraded(GROUPS.replace("(group[None] * K * M)", wrong))
    said = [one.message for one in found.diagnostics]
    assert any(one.startswith("the load of a ") for one in said) or "tile_descriptor(" not in found.text
