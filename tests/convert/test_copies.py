"""A number that becomes a tensor: each copy of the variable goes on from itself, not from the copy before it."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="ports are run with Triton")

from tests.convert.kernels import assert_same_numbers, kernel_text, ported

PARAMETERS = "x_ptr, out_ptr, n, BM: tl.constexpr, BN: tl.constexpr, {flag}: tl.constexpr"
TURNED = """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
{start}
if {flag}:
    {change}
x = tl.load(x_ptr + rows[:, None] + cols[None, :] * BM, mask={mask})
tl.store(out_ptr + rows[:, None] * BN + cols[None, :], x{more}, mask={mask})
"""
MASKS = {
    "augmented": ("keep = True", "keep &= (rows[:, None] * BN + cols[None, :]) < n", "keep", ""),
    "assigned": ("keep = True", "keep = keep & ((rows[:, None] * BN + cols[None, :]) < n)", "keep", ""),
    "added": ("more = 1", "more += rows[:, None] * BN + cols[None, :]", "more < n", " + more"),
    "turned over": ("more = 1", "more = rows[:, None] * BN + cols[None, :] - more", "more < n", " + more"),
}


@pytest.mark.parametrize("flag", ["YES", "NO"])
@pytest.mark.parametrize("name", MASKS)
def test_each_copy_goes_on_from_the_number(name: str, flag: str, tmp_path: Path) -> None:
    start, change, mask, more = MASKS[name]
    if flag == "NO" and name not in ("augmented", "assigned"):
        mask = "None"
    statements = TURNED.format(start=start, change=change, mask=mask, more=more, flag=flag)
    assert_same_numbers(kernel_text(statements, PARAMETERS.format(flag=flag)), tmp_path, grid=(1,))


def test_the_names_of_the_copies() -> None:
    start, change, mask, more = MASKS["augmented"]
    statements = TURNED.format(start=start, change=change, mask=mask, more=more, flag="YES")
    lines = [line.strip() for line in ported(kernel_text(statements, PARAMETERS.format(flag="YES"))).splitlines()]
    changed = [line for line in lines if line.startswith("keep") and ("&" in line)]
    assert [line.split(" &= ")[0] for line in changed] == ["keep_x", "keep_out"]
