"""Types of parameters: Triton reads them as values, or as text where annotations are not evaluated."""

from pathlib import Path

import pytest

from tests.convert.kernels import innermost, module_of, ported

KERNEL = """import triton
import triton.language as {tl}


@triton.jit
def kernel(
    x_ptr, stride: {tl}.int64, n: {tl}.uint32, m: "{tl}.int64", k: int, alpha: {tl}.float32, x: {tl}.tensor,
    BLOCK: {tl}.constexpr, S: "{tl}.constexpr"
):
    offs = {tl}.program_id(0) * stride + {tl}.arange(0, BLOCK)
    {tl}.store(x_ptr + offs, alpha, mask=offs < n)
"""


@pytest.mark.parametrize("tl", ["tl", "T"])
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n\n"])
def test_parameters_keep_their_types(tl: str, future: str, tmp_path: Path) -> None:
    text = future + KERNEL.format(tl=tl)
    before, after = module_of(text, tmp_path, "before"), module_of(ported(text), tmp_path, "after")
    before_types = [(one.name, one.annotation_type, one.is_constexpr) for one in innermost(before.kernel).params]
    after_types = [(one.name, one.annotation_type, one.is_constexpr) for one in innermost(after.kernel).params]
    assert [one for one in after_types if one[0] != "ALIGNED"] == before_types
    assert ("stride", "i64", False) in before_types or (future and tl == "T")
