"""Parts of a store's mask that a load above a dot has too: made before that load, as Triton's compiler has them."""

import pytest

from tests.convert.kernels import HEAD, convert

KERNEL = """def kernel(x_ptr, y_ptr, out_ptr, n, m, k):
    b = tl.program_id(0) * 2 + tl.arange(0, 2)[:, None, None]
    r = tl.arange(0, 16)

    # the left one
    x = tl.load(
        x_ptr + b * 512 + r[None, :, None] * 32 + r[None, None, :],
        mask=(b < n) & (r[None, :, None] < m) & (r[None, None, :] < k),
        other=0.0,
    )
    y = tl.load(y_ptr + b * 512 + r[None, :, None] * 32 + r[None, None, :], mask=b < n, other=0.0)
    {between}
    tl.store(
        out_ptr + b * 512 + r[None, :, None] * 32 + r[None, None, :], {dot}, mask={mask}
    )
"""
BOTH = "(b < n) & (r[None, :, None] < m)"


def written(mask: str, between: str = "z = tl.dot(x, y)", dot: str = "z") -> list[str]:
    """The lines of the port."""
    conversion = convert(HEAD + KERNEL.format(mask=mask, between=between, dot=dot))
    assert conversion.diagnostics == ()
    return [line.strip() for line in conversion.text[conversion.text.index("def kernel(") :].splitlines()]


@pytest.mark.parametrize("rest", ["", " & (r[None, None, :] < 9)", " & (r[None, None, :] < 9) & (b > 0)"])
def test_what_the_masks_begin_with_is_made_before_the_load(rest: str) -> None:
    lines = written(BOTH + rest)
    made = next(place for place, line in enumerate(lines) if line.startswith("out_mask = ("))
    assert lines[made - 1] == "" and lines[made + 1] == "# the left one"
    assert lines[made].count("<") == 2
    assert sum("out_mask" in line for line in lines) == 2
    assert any("mask=out_mask" in line for line in lines[made + 1 :])


@pytest.mark.parametrize(
    ("mask", "between", "dot"),
    [
        # Nothing that a load has, or one comparison alone.
        ("(b < n) & (r[None, :, None] < k)", "z = tl.dot(x, y)", "z"),
        ("b < n", "z = tl.dot(x, y)", "z"),
        # A name means something else by then.
        (BOTH, "z = tl.dot(x, y)\n    n = n - 1", "z"),
        # There is no dot above it.
        (BOTH, "z = x + y", "z"),
        (BOTH, "z = x + y", "z + tl.dot(x, y)"),
    ],
)
def test_any_other_mask_stays(mask: str, between: str, dot: str) -> None:
    assert not any("_mask" in line for line in written(mask, between, dot))
