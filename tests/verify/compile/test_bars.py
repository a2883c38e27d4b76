"""The bars: what passes, what fails, and why."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonport.verify.compile import bars_hold, compare, registers_hold
from tritonport.verify.compile.bars import show_widths, widths_hold
from tritonport.verify.compile.resources import Access, LayoutConversion, Resources

BASE = Resources("k", "triton", "sm_90", "3.9.0", 4, 40, 0, 0, 0, 1024, 1)
MOVE = LayoutConversion("64xf32", "a", "b", in_loop=False)
IN_LOOP = replace(MOVE, in_loop=True)


def failed(original: Resources, port: Resources) -> list[str]:
    return [bar.name for bar in compare(original, port) if not bar.passed]


def accesses(kind: str, *widths: int) -> tuple[Access, ...]:
    return tuple(Access(kind, width, 1, width, line=i) for i, width in enumerate(widths))


def test_equal_sides_hold_every_bar() -> None:
    assert failed(BASE, BASE) == []
    assert [bar.name for bar in compare(BASE, BASE)] == [
        "conversions",
        "loop-conversions",
        "load-width",
        "store-width",
        "atomic-width",
        "registers",
        "spills",
        "mma-precision",
        "shared-memory",
    ]


def test_conversions() -> None:
    assert failed(BASE, replace(BASE, moving=(MOVE,))) == []
    assert failed(BASE, replace(BASE, moving=(MOVE, MOVE))) == ["conversions"]
    assert failed(BASE, replace(BASE, moving=(IN_LOOP,))) == ["loop-conversions"]
    assert failed(replace(BASE, moving=(IN_LOOP,)), replace(BASE, moving=(MOVE, IN_LOOP))) == []


@pytest.mark.parametrize(
    ("original", "port", "holds"),
    [
        ((), (), True),
        ((16, 16), (16, 16), True),
        ((16, 4), (4, 16), True),
        ((4, 4), (16, 4), True),
        ((16, 16), (16, 8), False),
        ((16, 16, 4), (16, 4, 4), False),
        ((4,), (4, 4), True),  # loaded once more, as wide
        ((16, 4), (16, 4, 4), True),
        ((16, 16), (16, 16, 4), False),  # narrower than anything in the original
        ((16, 16, 4), (16, 4, 4, 4), False),
        ((16, 16, 4), (16, 4), True),  # two found to be one
        ((4, 4, 16), (4, 4), False),  # the wide one is gone
        ((16,), (), False),
        ((), (16,), False),
    ],
)
def test_widths(original: tuple[int, ...], port: tuple[int, ...], holds: bool) -> None:
    assert widths_hold(original, port) is holds
    left = replace(BASE, accesses=accesses("store", *original))
    assert failed(left, replace(BASE, accesses=accesses("store", *port))) == ([] if holds else ["store-width"])


@given(st.lists(st.sampled_from([2, 4, 8, 16]), min_size=1, max_size=6), st.data())
def test_making_one_access_narrower_never_holds(widths: list[int], data: st.DataObject) -> None:
    assert widths_hold(widths, widths)
    index = data.draw(st.integers(0, len(widths) - 1))
    narrower = [width // 2 if i == index else width for i, width in enumerate(widths)]
    assert not widths_hold(widths, narrower)
    assert widths_hold(narrower, widths)


def test_cp_async_is_a_load() -> None:
    left = replace(BASE, accesses=accesses("load", 16))
    assert failed(left, replace(BASE, accesses=accesses("async", 16))) == []
    assert failed(left, replace(BASE, accesses=accesses("async", 4))) == ["load-width"]


def test_registers_are_exact_percentages() -> None:
    assert failed(BASE, replace(BASE, registers=44)) == []
    over = compare(BASE, replace(BASE, registers=45))[5]
    assert (over.name, over.passed, over.allowed) == ("registers", False, True)
    assert over.text == "45 registers, Triton 40 (+12.5 %)"
    assert not compare(BASE, replace(BASE, registers=49))[5].allowed
    assert compare(BASE, replace(BASE, registers=20))[5].passed
    small = replace(BASE, registers=16)
    assert failed(small, replace(small, registers=18)) == ["registers"]


def test_registers_may_hold_what_the_original_spills() -> None:
    original = replace(BASE, registers=64, spill_stores=400, spill_loads=600)
    port = replace(original, registers=255, spill_stores=100, spill_loads=136)
    bar = compare(original, port)[5]
    assert (bar.name, bar.passed, bar.allowed, bar.with_spills) == ("registers", True, False, True)
    assert bar.text == "255 registers, Triton 64 (+298.4 %), with spills 1256 bytes, Triton 1256"
    assert failed(original, replace(port, spill_loads=140)) == ["registers"]
    assert not compare(original, original)[5].with_spills
    # Where the original spills nothing, its registers alone count.
    assert failed(replace(BASE, registers=64), replace(BASE, registers=72)) == ["registers"]
    assert failed(original, replace(original, registers=32, spill_loads=604)) == ["spills"]


def test_one_pair_in_ten_may_take_twenty_percent() -> None:
    good, over = compare(BASE, BASE), compare(BASE, replace(BASE, registers=48))
    far = compare(BASE, replace(BASE, registers=60))
    assert registers_hold([])
    assert not registers_hold([over])
    assert not registers_hold([good] * 8 + [over])
    assert registers_hold([good] * 9 + [over])
    assert not registers_hold([good] * 9 + [far])
    assert not registers_hold([good] * 17 + [over] * 2)
    assert registers_hold([good] * 18 + [over] * 2)
    assert bars_hold([good] * 9 + [over])
    assert not bars_hold([good] * 9 + [compare(BASE, replace(BASE, spill_loads=4))])


def test_spills() -> None:
    assert failed(BASE, replace(BASE, spill_stores=4, spill_loads=4)) == ["spills"]
    spilled = replace(BASE, spill_stores=8, spill_loads=8)
    assert failed(spilled, replace(spilled, spill_loads=4)) == []


@pytest.mark.parametrize(
    ("original", "port", "holds"),
    [
        ({"wgmma_tf32": 4}, {"mma_tf32": 8}, True),
        ({}, {"wgmma_tf32": 4}, False),
        ({"wgmma_bf16": 4}, {"wgmma_f16": 4}, False),
        ({"mma_bf16": 4}, {"tcgen05_f16": 4}, True),
        ({"mma_f16": 4}, {}, True),
        ({"mma_f16": 4}, {"mma_tf32": 4}, False),
    ],
)
def test_precision_of_tensor_cores(original: dict[str, int], port: dict[str, int], holds: bool) -> None:
    assert failed(replace(BASE, mma=original), replace(BASE, mma=port)) == ([] if holds else ["mma-precision"])


def test_shared_memory_must_fit_where_the_original_does() -> None:
    assert failed(BASE, replace(BASE, shared=227 * 1024)) == []
    assert failed(BASE, replace(BASE, shared=227 * 1024 + 1)) == ["shared-memory"]
    assert failed(replace(BASE, shared=300 * 1024), replace(BASE, shared=290 * 1024)) == []


def test_show_widths() -> None:
    assert show_widths((4, 16, 16)) == "2x16 1x4"
    assert show_widths(()) == "-"
