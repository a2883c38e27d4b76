"""Barriers are invalidated behind everything else of the block that they begin in."""

import libcst as cst
import pytest

from tritonport.upgrade.tma.closing import closed_at_end

CLOSED = "mbarrier.invalidate(a_ready)\n"
SWITCHED = "if FLAG:\n    mbarrier.invalidate(b_ready)\nelse:\n    mbarrier.invalidate(c_ready)\n"
MIXED = "if FLAG:\n    mbarrier.invalidate(b_ready)\nelse:\n    x = 1\n"
CHAINED = "if FLAG:\n    mbarrier.invalidate(b_ready)\nelif OTHER:\n    mbarrier.invalidate(c_ready)\n"


def ordered(text: str) -> str:
    return cst.Module(closed_at_end(cst.parse_module(text).body)).code  # type: ignore[arg-type]


@pytest.mark.parametrize("closing", [CLOSED, SWITCHED, CHAINED])
def test_they_go_to_the_end_of_the_block(closing: str) -> None:
    assert ordered(f"{closing}x = 2\nstore(x)\n") == f"x = 2\nstore(x)\n{closing}"
    assert ordered(f"x = 2\n{closing}store(x)\n{CLOSED}") == f"x = 2\nstore(x)\n{closing}{CLOSED}"


def test_an_if_that_does_more_stays() -> None:
    assert ordered(f"{MIXED}store(x)\n") == f"{MIXED}store(x)\n"


@pytest.mark.parametrize("leaving", ["return x\n", "if x:\n    return x\n", "if x:\n    break\n"])
def test_they_stand_before_what_leaves_the_block(leaving: str) -> None:
    text = f"for i in range(4):\n    pass\n{CLOSED}x = 2\n{leaving}store(x)\n"
    if "break" in leaving:  # libcst parses it outside of a loop too
        assert ordered(text).index(CLOSED) < ordered(text).index("break")
    assert ordered(text) == text.replace(CLOSED, "").replace(leaving, CLOSED + leaving)
