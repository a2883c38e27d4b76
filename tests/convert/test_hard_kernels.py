"""Awkward kernels: the port leaves the same bits in memory as the original, and compiles as well."""

from pathlib import Path

import pytest

from tests.convert.hard_kernels import EVERY, HELPERS
from tests.convert.helper_kernels import MORE
from tests.convert.kernels import VERSION, assert_compiles_as_well, assert_same_numbers, kernel_text

NAMES = [*EVERY, *MORE]
# Products in three dimensions: small tiles are converted in the loop, the compiler converts none there.
# Two orders in an if: 24 registers where the compiler needs 16.
# Addresses made of the items of a tuple: converted, where the compiler computes them again.
NOT_AS_WELL = {
    "products in three dimensions",
    "tiles of two orders in an if",
    "a tuple of indices that tiles of two orders read",
    # Read before the loop in the layout that it has there; the compiler converts it once.
    "vectors that a loop makes of each other and of a tile",
}
# The original itself does not compile with a helper's `None` argument.
NOT_COMPILED = {"a helper with a pointer that may be None"}
if VERSION == "3.6":
    # 32 registers where the compiler needs 19.
    NOT_AS_WELL.add("masks that are computed")
    # The original itself does not compile: "unhashable type: 'list'".
    NOT_COMPILED |= {"tuples in tuples", "a helper that gives back nested tuples"}


def text_of(name: str) -> str:
    parameters, body, above = MORE[name] if name in MORE else (*EVERY[name], HELPERS)
    text = kernel_text(body, parameters)
    return text.replace("\n\n\n@triton.jit\n", f"\n\n\n{above.strip()}\n\n\n@triton.jit\n", 1) if above else text


@pytest.mark.parametrize("name", NAMES)
def test_the_port_computes_the_same_bits(name: str, tmp_path: Path) -> None:
    assert_same_numbers(text_of(name), tmp_path)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_AS_WELL | NOT_COMPILED])
def test_the_port_compiles_as_well(name: str, tmp_path: Path) -> None:
    assert_compiles_as_well(text_of(name), tmp_path)
