"""Stage tma: stores to one tensor that have no element in common, and tiles that are read before they are written."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade.test_tma import run, upgraded
from tritonport.convert import ConvertOptions

HEAD = """
import torch
import triton
import triton.language as tl


@triton.jit
"""
LOADS = """\
    rows, own = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    a = tl.load(a_ptr + rows[:, None] * B + own[None, :], mask=rows[:, None] < M, other=0.0)
    b = tl.load(b_ptr + own[:, None] * B + own[None, :])
"""

NAMED = f"""{HEAD}def halves_kernel(a_ptr, b_ptr, c_ptr, M, B: tl.constexpr):
    NB: tl.constexpr = 16
{LOADS}    cols = tl.arange(0, NB)
    c = c_ptr + rows[:, None] * (2 * B)
    tl.store(c + cols[None, :], tl.dot(a, b), mask=rows[:, None] < M)
    tl.store(c + (NB + cols)[None, :], tl.dot(a, a), mask=rows[:, None] < M)


def launch(a, b):
    c = torch.zeros(a.shape[0], 32)
    halves_kernel[(triton.cdiv(a.shape[0], 16),)](a, b, c, a.shape[0], B=16)
    return c
"""


def numbers(*shape: int) -> torch.Tensor:
    return torch.randint(-3, 4, shape).half()


def messages(text: str) -> list[str]:
    return [one.message for one in upgraded(text).diagnostics]


def test_blocks_as_wide_as_a_name_says_lie_apart(tmp_path: Path) -> None:
    assert messages(NAMED) == []
    torch.manual_seed(0)
    a, b = numbers(32, 16), numbers(16, 16)
    got, made = run(upgraded(NAMED).text, tmp_path, a=a, b=b)
    products = [a[i : i + 16].float() @ m.float() for i in (0, 16) for m in (b, a[i : i + 16])]
    wanted = torch.cat([torch.cat(products[:2], 1), torch.cat(products[2:], 1)])
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert all(made) and "gl.store(" not in upgraded(NAMED).text.split("_tiles(")[1]


@pytest.mark.parametrize("between", ["NB // 2", "NB - 1"])
def test_blocks_that_meet_are_refused(between: str) -> None:
    assert any("also writes c_ptr" in one for one in messages(NAMED.replace("(NB + cols)", f"({between} + cols)")))


DESCRIBED = f"""{HEAD}def either_kernel(a_ptr, b_ptr, c_ptr, M, B: tl.constexpr, OWN: tl.constexpr):
{LOADS}    c = tl.dot(a, b)
    if OWN:
        desc = tl.make_tensor_descriptor(c_ptr, [M, B], [B, 1], [B, B])
        desc.store([tl.program_id(0) * B, 0], c)
    else:
        tl.store(c_ptr + rows[:, None] * B + own[None, :], c, mask=rows[:, None] < M)


def launch(a, b, own):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    c = torch.zeros(a.shape[0], 16)
    either_kernel[(triton.cdiv(a.shape[0], 16),)](a, b, c, a.shape[0], B=16, OWN=own)
    return c
"""


@pytest.mark.parametrize("own", [False, True])
def test_a_descriptor_of_the_other_branch_keeps_no_store_from_being_a_copy(own: bool, tmp_path: Path) -> None:
    assert messages(DESCRIBED) == [] and "c_desc" in upgraded(DESCRIBED).text
    a, b = numbers(24, 16), numbers(16, 16)
    got, made = run(upgraded(DESCRIBED).text, tmp_path, a=a, b=b, own=own)
    torch.testing.assert_close(got, a.float() @ b.float(), rtol=0, atol=0)
    assert all(made) or own


def test_a_descriptor_before_the_branches_keeps_the_store() -> None:
    line = "        desc = tl.make_tensor_descriptor(c_ptr, [M, B], [B, 1], [B, B])\n"
    text = DESCRIBED.replace(line, "").replace("    if OWN:\n", f"{line[4:]}    if OWN:\n")
    assert any("also has a descriptor of c_ptr" in one for one in messages(text))


LOOPS = f"""{HEAD}def scores_kernel(a_ptr, b_ptr, c_ptr, n, N, stride, B: tl.constexpr, S: tl.constexpr):
    first = tl.program_id(0) * B
    rows, own = first + tl.arange(0, B), tl.arange(0, 16)
    a = tl.load(a_ptr + rows[:, None] * 16 + own[None, :], mask=rows[:, None] < N, other=0.0)
    for i in range(FIRST):
        cols = i + tl.arange(0, S)
        b = tl.load(b_ptr + own[:, None] + cols[None, :] * 16, mask=cols[None, :] < N, other=0.0)
        tl.store(
            c_ptr + rows[:, None] * stride + cols[None, :],
            tl.dot(a, b),
            mask=(rows[:, None] < N) & (cols[None, :] < N),
        )
    for i in range(SECOND):
        cols = i + tl.arange(0, S)
        b = tl.load(b_ptr + own[:, None] + cols[None, :] * 16, mask=cols[None, :] < N, other=0.0)
        tl.store(
            c_ptr + rows[:, None] * stride + cols[None, :],
            tl.dot(a, b) * 2,
            mask=(rows[:, None] < N) & (cols[None, :] < N),
        )


def launch(a, b, size, block, stride):
    N = a.shape[0]
    c = torch.zeros(N * stride + 256)
    scores_kernel[(triton.cdiv(N, size),)](a, b, c, 1, N, stride, B=size, S=block)
    return c
"""
UP = "first, min(first + B, N), S"
DOWN = "first + B - S, first - S, -S"
BELOW = "first - S, -S, -S"


def loops(first: str, second: str) -> str:
    return LOOPS.replace("FIRST", first).replace("SECOND", second)


def wanted_scores(a: torch.Tensor, b: torch.Tensor, size: int, stride: int) -> torch.Tensor:
    n = a.shape[0]
    blocks = torch.arange(n) // size
    factor = (blocks[:, None] == blocks[None, :]) * 1.0 + (blocks[:, None] > blocks[None, :]) * 2.0
    c = torch.zeros(n * stride + 256)
    torch.as_strided(c, (n, n), (stride, 1)).copy_((a.float() @ b.float().T) * factor)
    return c


@pytest.mark.parametrize("first", [UP, DOWN])
@pytest.mark.parametrize(("length", "block"), [(64, 16), (64, 32), (48, 16)])
def test_loops_over_columns_of_their_own_store_copies(first: str, length: int, block: int, tmp_path: Path) -> None:
    text = upgraded(loops(first, BELOW)).text
    assert messages(loops(first, BELOW)) == [] and 'args["stride"]>=args["N"]' in "".join(text.split())
    torch.manual_seed(0)
    a, b = numbers(length, 16), numbers(length, 16)
    got, made = run(text, tmp_path, a=a, b=b, size=32, block=block, stride=length)
    torch.testing.assert_close(got, wanted_scores(a, b, 32, length), rtol=0, atol=0)
    assert all(made)


def test_rows_without_room_for_the_columns_take_the_pointers(tmp_path: Path) -> None:
    a, b = numbers(64, 16), numbers(64, 16)
    text = upgraded(loops(UP, BELOW)).text
    asked = [len(run(text, tmp_path, a=a, b=b, size=32, block=16, stride=stride)[1]) for stride in (64, 48)]
    assert asked == [5, 3], "no descriptor is asked for what is stored"


REFUSED = {
    "one block too far": (loops(UP, "first, -S, -S"), "", ""),
    "the same columns": (loops(UP, UP), "", ""),
    "the step of another": (loops(UP, "first - 1, -S, -S"), "", ""),
    "from the other side": (loops("0, first + S, S", BELOW), "", ""),
    "columns without an end": (loops(UP, BELOW), " & (cols[None, :] < N)", ""),
    "rows that a loop moves": (loops(UP, BELOW), "        b = tl.load", "        rows += 1\n        b = tl.load"),
    "a base that a loop moves": (loops(UP, BELOW), "        b = tl", "        c_ptr += stride\n        b = tl"),
    "an end of other columns": (loops(UP, BELOW), "& (cols[None, :] < N)", "& (cols[None, :] - S < N)"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_loops_whose_columns_may_meet_are_refused(case: str) -> None:
    text, old, new = REFUSED[case]
    assert any("also writes c_ptr" in one for one in messages(text.replace(old, new) if old else text))


def other_index(text: str) -> str:
    """The second loop with an index of another name."""
    head, second = text.rsplit("    for i in", 1)
    return f"{head}    for j in{second.replace('cols = i +', 'cols = j +')}"


def test_the_name_of_an_index_is_no_reason() -> None:
    assert messages(other_index(loops(DOWN, BELOW))) == []
    assert any("also writes c_ptr" in one for one in messages(other_index(loops(UP, UP))))


def test_loops_that_are_entered_again_are_refused() -> None:
    """What one loop stores in an iteration of an outer one, the other may store in the next."""
    head, body = loops(UP, BELOW).split("    for i in", 1)
    body, launch = body.split("\n\n\ndef launch", 1)
    body = "    for i in" + body
    inner = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"{head}    for j in range(n):\n        first = j * B\n{inner}\n\ndef launch{launch}"
    assert any("also writes c_ptr" in one for one in messages(text))


OVER = f"""{HEAD}def tasks_kernel(a_ptr, b_ptr, c_ptr, M, tasks, H, B: tl.constexpr):
    own = tl.arange(0, B)
    for task in range(tl.program_id(0), tasks, tl.num_programs(0)):
        t, h = task // H, task % H
        rows = t * B + own
        a = tl.load(a_ptr + (h * M + rows)[:, None] * B + own[None, :], mask=rows[:, None] < M, other=0.0)
        b = tl.load(b_ptr + own[:, None] * B + own[None, :])
        c_ptrs = c_ptr + h * M * B + rows[:, None] * B + own[None, :]
        c = tl.load(c_ptrs, mask=rows[:, None] < M, other=0.0)
        made = tl.dot(a, b, c)
        tl.store(c_ptrs, made, mask=rows[:, None] < M)


def launch(a, b):
    H, M, B = a.shape
    c = torch.arange(0, H * M * B, dtype=torch.float32).reshape(H, M, B)
    tasks_kernel[(2,)](a, b, c, M, triton.cdiv(M, B) * H, H, B=B)
    return c
"""


def loads_of_c(text: str) -> list[str]:
    return [one for one in messages(text) if "load of c " in one]


@pytest.mark.parametrize("rows", [48, 40])
def test_a_sum_that_each_task_takes_up_is_copied(rows: int, tmp_path: Path) -> None:
    assert messages(OVER) == []
    torch.manual_seed(0)
    a, b = numbers(3, rows, 16), numbers(16, 16)
    got, made = run(upgraded(OVER).text, tmp_path, a=a, b=b)
    before = torch.arange(0, got.numel(), dtype=torch.float32).reshape(got.shape)
    torch.testing.assert_close(got, before + a.float() @ b.float(), rtol=0, atol=0)
    assert all(made) and "c_desc" in upgraded(OVER).text


def test_of_what_a_loop_writes_the_copies_stay_and_others_run_ahead(tmp_path: Path) -> None:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="multibuffer")
    found = conversion(OVER, options)
    assert [one.message.partition(": ")[2] for one in found.diagnostics] == ["its loop writes to c_desc_2"]
    tiles = found.text.partition("def tasks_kernel_tiles(")[2].partition("\n@")[0]
    assert "a_ring.index(slot)" in tiles and "b_ring.index(slot)" in tiles and "c_ring" not in tiles
    torch.manual_seed(0)
    a, b = numbers(3, 104, 16), numbers(16, 16)
    got, made = run(found.text, tmp_path, a=a, b=b)
    before = torch.arange(0, got.numel(), dtype=torch.float32).reshape(got.shape)
    torch.testing.assert_close(got, before + a.float() @ b.float(), rtol=0, atol=0)
    assert all(made)


MEETING = {
    "tasks of one tile": ("t, h = task // H, task % H", "t, h = task // H, 0"),
    "tiles that overlap": ("rows = t * B + own", "rows = t * 8 + own"),
    "elements that stay": ("        tl.store(c_ptrs, made, mask=rows[:, None] < M)", "        tl.store(c_ptrs, made)"),
    "another tile": ("tl.store(c_ptrs, made", "tl.store(c_ptrs + B * B, made"),
}  # fmt: skip


@pytest.mark.parametrize("case", MEETING)
def test_a_sum_that_another_task_may_have_written_stays(case: str) -> None:
    old, new = MEETING[case]
    assert old in OVER
    assert loads_of_c(OVER.replace(old, new)) or "tile_descriptor(" not in upgraded(OVER.replace(old, new)).text


def test_a_sum_that_is_read_behind_the_store_stays() -> None:
    store = "        tl.store(c_ptrs, made, mask=rows[:, None] < M)\n"
    again = store + (
        "        c = tl.load(c_ptrs, mask=rows[:, None] < M, other=0.0)\n"
        "        tl.store(c_ptrs, tl.dot(a, b, c), mask=rows[:, None] < M)\n"
    )
    assert loads_of_c(OVER.replace(store, again))


PEEKED = """
import triton
import triton.language as tl


@triton.jit
def peek(ptr, n):
    return tl.load(ptr + n)


@triton.jit
def peeked_kernel(a_ptr, b_ptr, c_ptr, d_ptr, M, N, B: tl.constexpr):
    rows, own = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    a = tl.load(a_ptr + rows[:, None] * B + own[None, :], mask=rows[:, None] < M, other=0.0)
    for n in range(tl.cdiv(N, B)):
        cols = n * B + tl.arange(0, B)
        b = tl.load(b_ptr + own[:, None] * N + cols[None, :], mask=cols[None, :] < N, other=0.0)
        c_ptrs = c_ptr + rows[:, None] * N + cols[None, :]
        tl.store(c_ptrs, tl.dot(a, b), mask=(rows[:, None] < M) & (cols[None, :] < N))
        tl.store(d_ptr + n, peek(c_ptr, n))
"""


def test_what_a_function_reads_in_the_loop_is_written_by_threads() -> None:
    said = [one.message for one in upgraded(PEEKED).diagnostics if "to c_ptr" in one.message]
    assert said == ["the store (to c_ptr) stays as it is: the kernel gives c_ptr to peek, which reads memory"]
    other = upgraded(PEEKED.replace("peek(c_ptr, n)", "peek(a_ptr, n)"))
    assert "c_desc" in other.text and not [one for one in other.diagnostics if "to c_ptr" in one.message]
