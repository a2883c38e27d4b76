"""Stage tma: loops that count down, and loads that are part of a larger expression."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.upgrade.test_tma import run, upgraded
from tests.upgrade.test_tma_proofs import expected, given

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, sums_ptr, M, K, step, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for i in range(tl.cdiv(K, BLOCK) - 1, -1, -1):
        steps = i * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(
            a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
        )
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
        tl.store(sums_ptr + i * M * N + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b):
    (M, K), N = a.shape, b.shape[1]
    c, sums = torch.full((M + 5, N), 7.0), torch.full((triton.cdiv(K, 16) + 1, M, N), 7.0)
    product_kernel[(triton.cdiv(M, 16),)](a, b, c, sums, M, K, 16, N=N, BLOCK=16)
    return torch.cat([c.flatten(), sums.flatten()])
"""
LOOP = "    for i in range(tl.cdiv(K, BLOCK) - 1, -1, -1):\n        steps = i * BLOCK + tl.arange(0, BLOCK)\n"
ELEMENTS = (
    "    for start in range(tl.cdiv(K, BLOCK) * BLOCK - BLOCK, -BLOCK, -BLOCK):\n"
    "        i = start // BLOCK\n        steps = start + tl.arange(0, BLOCK)\n"
)
POINTERS = (
    "    a_ptr += (tl.cdiv(K, BLOCK) - 1) * BLOCK\n" + LOOP
)  # fmt: skip
FORMS = {
    "by blocks": KERNEL,
    "by elements": KERNEL.replace(LOOP, ELEMENTS),
    "a pointer that goes back": KERNEL.replace(LOOP, POINTERS)
    .replace("+ rows[:, None] * K + steps[None, :], mask", "+ rows[:, None] * K + tl.arange(0, BLOCK)[None, :], mask")
    .replace("        acc += tl.dot", "        a_ptr -= BLOCK\n        acc += tl.dot"),
    "a load in an expression": KERNEL.replace(
        "other=0.0\n        )", "other=0.0\n        ).to(b_ptr.dtype.element_ty)"
    ),
}


def sums_of(inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """What the kernel writes: the product, and the sums of the blocks from each one to the last."""
    a, b = inputs["a"].float(), inputs["b"].float()
    starts = range(0, a.shape[1], 16)
    sums = [a[:, start:] @ b[start:] for start in starts]
    sums.append(torch.full((a.shape[0], b.shape[1]), 7.0))
    return torch.cat([expected(inputs).flatten(), torch.stack(sums).flatten()])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [8, 40, 41])
def test_a_tile_that_falls_with_the_index_is_copied(form: str, depth: int, tmp_path: Path) -> None:
    inputs = given(24, depth)
    got, made = run(upgraded(FORMS[form]).text, tmp_path, **inputs)
    torch.testing.assert_close(got, sums_of(inputs), rtol=0, atol=0)
    assert made.count(True) == (4 if depth % 8 == 0 else 3), "rows of A that are not aligned have no descriptor"


def test_the_coordinate_is_the_index() -> None:
    text = upgraded(KERNEL).text
    assert "[gl.program_id(0) * BLOCK, i * BLOCK]" in text.replace(
        "BLOCK * gl.program_id(0)", "gl.program_id(0) * BLOCK"
    )


def test_what_is_computed_of_a_load_waits_for_its_copy() -> None:
    text = upgraded(FORMS["a load in an expression"]).text
    assert "a = a_tile.load(a_layout).to(" in text


def test_a_first_element_between_two_blocks_is_asked_of_the_launch(tmp_path: Path) -> None:
    kernel = FORMS["by elements"].replace("tl.cdiv(K, BLOCK) * BLOCK - BLOCK, -BLOCK", "K - BLOCK, -BLOCK")
    text = upgraded(kernel).text
    assert text.count('(args["K"] % args["BLOCK"]) == 0') == 3
    inputs = given(24, 48)
    got, made = run(text, tmp_path, **inputs)
    torch.testing.assert_close(got, sums_of(inputs), rtol=0, atol=0)
    assert made.count(True) == 4


def test_a_step_that_the_launch_passes_is_asked_to_go_down() -> None:
    kernel = FORMS["by elements"].replace("* BLOCK - BLOCK, -BLOCK, -BLOCK", "* step - step, -step, -step")
    text = upgraded(kernel).text
    asked = text[text.rindex('"a_desc": lambda') :].partition(" else None")[0].rpartition(" if ")[2]
    assert asked.endswith(' and args["step"] >= 0'), asked
    assert text.count('args["step"] >= 0') == 1, "every launch by tiles needs the first descriptor"


REFUSED = {
    "an end below the last block": ("- 1, -1, -1)", "- 1, -2, -1)"),
    "an end that is read from memory": ("- 1, -1, -1)", "- 1, tl.load(sums_ptr).to(tl.int32), -1)"),
    "an end two blocks below": ("- BLOCK, -BLOCK, -BLOCK", "- BLOCK, -2 * BLOCK, -BLOCK"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_an_index_that_may_go_below_zero_is_refused(case: str) -> None:
    right, wrong = REFUSED[case]
    text = next(form for form in FORMS.values() if right in form).replace(right, wrong)
    found = upgraded(text)
    assert any("may be negative" in one.message for one in found.diagnostics), [
        one.message for one in found.diagnostics
    ]
    assert "a_desc" not in found.text and "b_desc" not in found.text
