"""Where tiles of different layouts meet: which of them is converted, and in which type, beside Triton's compiler."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.convert.kernels import HEAD, VERSION, convert, module_of
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import emulated

ROTATED = """
def kernel(x_ptr, angle_ptr, out_ptr, R: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, D)
    angle = tl.load(angle_ptr + rows[:, None] * R + (cols // 2)[None, :])
    neighbour = tl.load(x_ptr + rows[:, None] * D + (cols ^ 1)[None, :])
    x = tl.load(x_ptr + rows[:, None] * D + cols[None, :])
    tl.store(out_ptr + rows[:, None] * D + cols[None, :], x * angle + neighbour)
"""
MASKED = """
def kernel(x_ptr, y_ptr, keep_ptr, out_ptr, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    acc = tl.dot(tl.load(x_ptr + rows * BLOCK + cols), tl.load(y_ptr + rows * BLOCK + cols))
    keep = tl.load(keep_ptr + rows * BLOCK + cols)
    tl.store(out_ptr + rows * BLOCK + cols, tl.where(keep > 0, acc * 0.5, -1.0))
"""
CONJUGATE = """
def kernel(h_ptr, q_ptr, out_ptr, steps, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    h = tl.load(h_ptr + rows[:, None] * BLOCK + rows[None, :])
    r = tl.load(q_ptr + rows)
    p = r
    for _ in range(steps):
        q = tl.sum(h * p[:, None], axis=0) + p
        r = r - q / tl.sum(p * q)
        p = r + p
    tl.store(out_ptr + rows, tl.sum(h * r[:, None], axis=0))
"""


def _modules(text: str, tmp_path: Path, target: str = "sm_90") -> list[Any]:
    source = HEAD + text.lstrip("\n")
    texts = {"original": source, "port": convert(source, VERSION, target=target).text}
    return [module_of(one, tmp_path, name).kernel for name, one in texts.items()]


def _compiled(fn: object, signature: dict[str, str], constants: dict[str, int], target: str) -> Resources:
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(len(signature))}
    spec = dict(fn=fn, signature=signature, attrs=attributes, constexprs=constants, num_warps=4)
    return compile_kernel(spec, target)


def test_what_is_gathered_has_the_layout_of_the_rows_that_it_meets(tmp_path: Path) -> None:
    """A row of R angles begins every R elements, which are neighbours only if R is 1."""
    signature = dict.fromkeys(("x_ptr", "angle_ptr", "out_ptr"), "*bf16")
    original, port = (
        _compiled(one, signature, dict(R=32, BLOCK=64, D=64), "sm_90") for one in _modules(ROTATED, tmp_path)
    )
    assert (port.conversions, original.conversions) == (0, 0)
    assert port.load_widths == original.load_widths and port.store_widths == original.store_widths
    assert port.registers <= original.registers


@pytest.mark.parametrize("rows", [1, 32])
def test_results_of_what_is_gathered_are_those_of_the_original(rows: int, tmp_path: Path) -> None:
    g = torch.Generator().manual_seed(0)
    x, angle = (torch.randint(-8, 9, (64, 64), generator=g).float() for _ in range(2))
    results = []
    for side in _modules(ROTATED, tmp_path):
        out = torch.zeros(64, 64)
        with emulated():
            side[(1,)](x, angle, out, R=rows, BLOCK=64, D=64)
        results.append(out)
    assert torch.equal(*results) and results[0].count_nonzero() > 3000


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("out", ["fp32", "fp16"])
def test_a_mask_is_converted_to_the_layout_of_a_dot_and_sums_as_they_are_stored(
    target: str, out: str, tmp_path: Path
) -> None:
    signature = dict(x_ptr="*fp16", y_ptr="*fp16", keep_ptr="*i32", out_ptr=f"*{out}")
    original, port = (_compiled(one, signature, dict(BLOCK=64), target) for one in _modules(MASKED, tmp_path, target))
    assert sorted(one.tensor for one in port.moving) == sorted(one.tensor for one in original.moving)
    assert port.shared <= original.shared


def test_results_behind_a_mask_are_those_of_the_original(tmp_path: Path) -> None:
    g = torch.Generator().manual_seed(0)
    x, y = (torch.randint(-4, 5, (64, 64), generator=g).to(torch.float16) for _ in range(2))
    keep = torch.randint(0, 2, (64, 64), generator=g, dtype=torch.int32)
    results = []
    for side in _modules(MASKED, tmp_path):
        out = torch.zeros(64, 64, dtype=torch.float16)
        with emulated():
            side[(1,)](x, y, keep, out, BLOCK=64)
        results.append(out)
    assert torch.equal(*results) and results[0].unique().numel() > 50


STATISTICS = (
    HEAD
    + """
def kernel(x_ptr, out_ptr, S: tl.constexpr):
    r = tl.arange(0, S)
    x = tl.load(x_ptr + r[:, None] * S + r[None, :])
    mean = tl.sum(x, axis=1) / S
{first}    tl.store(out_ptr + S + r, {second})
"""
)
STORED = "    tl.store(out_ptr + r, mean)\n"


def test_what_is_converted_to_be_stored_meets_another_statistic_there() -> None:
    text = convert(STATISTICS.format(first=STORED, second="tl.sum(x, axis=0) + mean")).text
    mean = "gl.convert_layout(mean, out_layout)"
    assert f"gl.store(out_ptr + r_out, {mean})\n" in text
    assert f"out_ptr + S + r_out, gl.convert_layout(gl.sum(x, axis=0), out_layout) + {mean}\n" in text


@pytest.mark.parametrize(
    ("first", "second"),
    [("", "tl.sum(x, axis=0) + mean"), (STORED, "tl.sum(x, axis=1) + mean"), (STORED, "tl.sum(x, axis=0) + mean + 1")],
)
def test_other_statistics_meet_where_one_of_them_is(first: str, second: str) -> None:
    text = convert(STATISTICS.format(first=first, second=second)).text
    assert ", out_layout) + gl.convert_layout(" not in text


INDEX = """
def kernel(x_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    best = tl.full((M,), -1.0, dtype=tl.float32)
    where = tl.full((M,), 0, dtype=tl.int64)
    for start in range(0, n, N):
        cols = start + tl.arange(0, N)
        x = tl.load(x_ptr + rows[:, None] * n + cols[None, :])
        found, place = tl.max(x, 1, return_indices=True)
        where = tl.where(found > best, start + place, where)
        best = tl.maximum(best, found)
    tl.store(out_ptr + rows, where)
"""


def test_an_index_of_64_bits_is_cast_to_the_type_of_memory_before_it_is_converted() -> None:
    """What a loop carries keeps the type it begins with, whatever is known of what the loop makes of it."""
    text = convert(HEAD + INDEX.lstrip("\n"), VERSION).text
    assert "gl.convert_layout(where.to(out_ptr.dtype.element_ty), out_layout)" in text


def test_a_sum_of_a_tile_is_converted_to_the_vectors_that_it_meets(tmp_path: Path) -> None:
    """The search direction of conjugate gradients stays in the layout in which the next product reads it."""
    signature = {"h_ptr": "*fp32", "q_ptr": "*fp32", "out_ptr": "*fp32", "steps": "i32"}
    original, port = (_compiled(one, signature, dict(BLOCK=64), "sm_90") for one in _modules(CONJUGATE, tmp_path))
    assert port.conversions_in_loops == 1 <= original.conversions_in_loops
    assert port.conversions <= original.conversions
