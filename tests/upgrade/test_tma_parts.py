"""Stage tma: parts of a sum, loops that begin where a table or a schedule says, more strides than a descriptor has."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.convert.kernels import VERSION, module_of
from tests.upgrade.test_tma import run, upgraded
from tests.upgrade.test_tma_proofs import FLAGS, expected, given

PARTS = """
import torch
import triton
import triton.language as tl


@triton.jit
def parts_kernel(a_ptr, b_ptr, c_ptr, M, N, K, part, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    begin = tl.program_id(1) * part
    end = LEAST(begin + part, K)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(begin, end, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        a = tl.load(
            a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < end), other=0.0
        )
        b = tl.load(
            b_ptr + steps[:, None] * N + cols[None, :], mask=(steps[:, None] < end) & (cols[None, :] < N), other=0.0
        )
        acc = tl.dot(a, b, acc)
    out = c_ptr + tl.program_id(1) * M * N
    tl.store(out + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(a, b, part):
    (M, K), N = a.shape, b.shape[1]
    count = triton.cdiv(K, part)
    c = torch.full((count, M, N), float("nan"))
    parts_kernel[(triton.cdiv(M, 16), count)](a, b, c, M, N, K, part, BLOCK=16)
    return c
"""


@pytest.mark.parametrize("least", ["min", "tl.minimum"])
@pytest.mark.parametrize(("depth", "part"), [(64, 32), (72, 32), (72, 24), (8, 16)])
def test_the_mask_of_a_part_holds_where_blocks_divide_it(least: str, depth: int, part: int, tmp_path: Path) -> None:
    text = upgraded(PARTS.replace("LEAST", least)).text
    assert text.count('(args["part"] % args["BLOCK"]) == 0') == 2
    torch.manual_seed(0)
    a, b = torch.randint(-4, 5, (24, depth)).half(), torch.randint(-4, 5, (depth, 16)).half()
    got, made = run(text, tmp_path, a=a, b=b, part=part)
    parts = range(0, depth, part)
    wanted = torch.stack([a[:, k : k + part].float() @ b[k : k + part].float() for k in parts])
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [True] * (3 if part % 16 == 0 else 1), "no other descriptor is asked for"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("range(begin, end, BLOCK)", "range(begin + 1, end, BLOCK)"),
        ("range(begin, end, BLOCK)", "range(begin, end, 2)"),
        ("range(begin, end, BLOCK)", "range(begin, K, BLOCK)"),
        ("steps = k +", "steps = k + 8 +"),
        ("end = LEAST(begin + part, K)", "end = tl.load(c_ptr).to(tl.int32)"),
    ],
)
def test_a_part_that_ends_within_a_block_is_refused(right: str, wrong: str) -> None:
    assert right in PARTS
    found = upgraded(PARTS.replace(right, wrong).replace("LEAST", "min"))
    assert "a_desc" not in found.text and "b_desc" not in found.text
    assert sum(one.code == "TP412" for one in found.diagnostics) == 2


STARTS = """
import torch
import triton
import triton.language as tl


@triton.jit
def starts_kernel(
    a_ptr, b_ptr, c_ptr, table, M, K, window, N: tl.constexpr, BLOCK: tl.constexpr, FROM_TABLE: tl.constexpr,
    WINDOW: tl.constexpr,
):
    row, _ = tl.swizzle2d(tl.program_id(0), tl.program_id(1), tl.num_programs(0), tl.num_programs(1), 2)
    rows, cols = row * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N)
    if FROM_TABLE:
        start = tl.load(table)
    else:
        start = 0
    if WINDOW:
        first = tl.maximum(start, row - window)
    else:
        first = start
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(first // BLOCK, tl.cdiv(K, BLOCK)):
        steps = k * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(
            a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
        )
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, table=None):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), float("nan"))
    starts_kernel[(triton.cdiv(M, 16), 1)](
        a, b, c, table, M, K, 8, N=N, BLOCK=16, FROM_TABLE=table is not None, WINDOW=True
    )
    return c
"""


@pytest.mark.parametrize("start", [None, 0, 16])
def test_a_loop_that_begins_where_a_table_says_is_copied_without_one(start: int | None, tmp_path: Path) -> None:
    found = upgraded(STARTS)
    assert [one.message for one in found.diagnostics] == []
    assert found.text.count('if not args["FROM_TABLE"] else None') == 3
    torch.manual_seed(0)
    a, b = torch.randint(-4, 5, (40, 40)).half(), torch.randint(-4, 5, (40, 16)).half()
    table = None if start is None else torch.tensor([start], dtype=torch.int32)
    got, made = run(found.text, tmp_path, a=a, b=b, table=table)
    torch.testing.assert_close(got, a[:, start or 0 :].float() @ b[start or 0 :].float(), rtol=0, atol=0)
    assert made == ([True] * 3 if start is None else [])


def test_a_start_that_may_be_below_zero_is_refused() -> None:
    moved = STARTS.replace("tl.maximum(start, row - window)", "row - window")
    text = upgraded(moved).text
    assert text.count('not args["WINDOW"]') == 3, "the copies are for launches without a window"
    found = upgraded(moved.replace("first = start\n", "first = row - window\n"))
    said = [one.message for one in found.diagnostics if one.code == "TP412"]
    assert len(said) == 2 and all("may be negative" in one for one in said) and "a_desc" not in found.text


STRIDES = """
import torch
import triton
import triton.language as tl


@triton.jit
def heads_kernel(
    q_ptr, k_ptr, out_ptr, T, B: tl.constexpr, H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    SHARED: tl.constexpr,
):
    one, other = tl.program_id(0) % G, tl.program_id(0) // G
    head, batch, block = other % H, other // H % B, other // H // B
    rows, cols, steps = tl.arange(0, BLOCK), tl.arange(0, D), tl.arange(0, BLOCK)
    q = tl.load(
        q_ptr + block * B * H * G * T * D + batch * H * G * T * D + head * G * T * D + one * T * D
        + rows[:, None] * D + cols[None, :]
    )
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for t in range(0, T, BLOCK):
        k = tl.load(
            k_ptr + (batch * H + head) * T * D + (t + steps)[None, :] * (D if SHARED else 2 * D) + cols[:, None],
            mask=(t + steps)[None, :] < T, other=0.0,
        )
        acc += tl.dot(q, k)
    tl.store(out_ptr + tl.program_id(0) * BLOCK * BLOCK + rows[:, None] * BLOCK + steps[None, :], acc)


def launch(q, k, shared=True):
    N, B, H, G, T, D = q.shape
    out = torch.full((N * B * H * G, 16, 16), float("nan"))
    heads_kernel[(N * B * H * G,)](q, k, out, T, B=B, H=H, G=G, D=D, BLOCK=16, SHARED=shared)
    return out
"""


@pytest.mark.parametrize("shared", [True, False])
def test_six_strides_are_five_where_one_is_a_multiple(shared: bool, tmp_path: Path) -> None:
    found = upgraded(STRIDES)
    assert [one.message for one in found.diagnostics] == [] and "q_desc" in found.text and "k_desc" in found.text
    torch.manual_seed(0)
    q = torch.randint(-4, 5, (2, 2, 2, 2, 32, 16)).half()
    k = torch.randint(-4, 5, (2, 2, 64, 16)).half()
    got, made = run(found.text, tmp_path, q=q, k=k, shared=shared)
    rows = torch.as_strided(k, (2, 2, 32, 16), (1024, 512, 16 if shared else 32, 1)).float()
    wanted = torch.einsum("nbhgid,bhsjd->nbhgij", q[..., :16, :].float(), rows.unflatten(2, (2, 16)))
    torch.testing.assert_close(got, wanted.flatten(0, 3), rtol=0, atol=0)
    assert made == [True] * 3


@pytest.mark.skipif(VERSION == "3.6", reason="Triton 3.6 gives no function a tuple of compile-time values")
def test_strides_in_a_tuple_that_the_launch_gives(tmp_path: Path) -> None:
    text = FLAGS.replace("BLOCK: tl.constexpr,\n", "BLOCK: tl.constexpr, STRIDES: tl.constexpr,\n", 1)
    text = text.replace("offs[None, :]), (K, 1))", "offs[None, :]), STRIDES)").replace(
        "BLOCK=16", "BLOCK=16, STRIDES=(K, 1)"
    )
    found = upgraded(text)
    assert [one.message for one in found.diagnostics] == [] and 'args["STRIDES"][0]' in found.text
    inputs = given(24, 40)
    got, made = run(found.text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    assert made == [True] * 3


WRITTEN = """
@triton.jit
def fill(ptrs, value):
    tl.store(ptrs, value)


@triton.jit
def product_kernel(
"""


@pytest.mark.parametrize("filled", [False, True])
def test_a_function_in_the_other_branch_of_a_flag_writes_beside_no_copy(filled: bool, tmp_path: Path) -> None:
    flagged = PARTS.replace(
        "@triton.jit\ndef parts_kernel(", WRITTEN.replace("product_kernel", "parts_kernel").rstrip()
    )
    flagged = flagged.replace("part, BLOCK: tl.constexpr", "part, BLOCK: tl.constexpr, FILL: tl.constexpr")
    store = "    tl.store(out + rows[:, None] * N + cols[None, :], acc, mask="
    assert store in flagged
    flagged = flagged.replace(store, "    if FILL:\n        fill(out, 5.0)\n    else:\n    " + store)
    flagged = flagged.replace("def launch(a, b, part):", "def launch(a, b, part, fill):").replace(
        "BLOCK=16)", "BLOCK=16, FILL=fill)"
    )
    found = upgraded(flagged.replace("LEAST", "min"))
    assert [one.message for one in found.diagnostics] == [] and "store_tile(c_desc" in found.text
    a, b = torch.ones(16, 32).half(), torch.ones(32, 16).half()
    got, _ = run(found.text, tmp_path, a=a, b=b, part=16, fill=filled)
    wanted = torch.full((2, 16, 16), float("nan") if filled else 16.0)
    if filled:
        wanted[:, 0, 0] = 5.0
    torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)


def test_an_argument_that_is_a_descriptor_gets_no_other(tmp_path: Path) -> None:
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    made = module_of(upgraded(STARTS).text, tmp_path, "kernel").tile_descriptor
    tensor = torch.zeros(16, 16, dtype=torch.float16)
    own = made(tensor, [16, 16], [16, 1], [16, 16])
    assert isinstance(own, TensorDescriptor)
    assert made(own, [16, 16], [16, 1], [16, 16]) is None
