"""Which results additions by atomics reach."""

from types import SimpleNamespace
from typing import Any

import pytest

from tritonport.verify.launches import Launch
from tritonport.verify.sanitize.order import adds_floats, unordered

ADDS = """
def kernel(x_ptr, out_ptr, count_ptr, n):
    offs = tl.arange(0, 64)
    place = out_ptr + offs
    tl.atomic_add(place, tl.load(x_ptr + offs), mask=offs < n)
    tl.store(count_ptr, n)
"""
READS = """
def later(y_ptr, scale_ptr, z_ptr):
    offs = tl.arange(0, 64)
    tl.store(z_ptr + offs, tl.load(y_ptr + offs) * tl.load(scale_ptr))
"""
HELPED = """
def kernel(x_ptr, out_ptr):
    add_up(x_ptr, out_ptr)
"""


def launch(source: str, *ptx: str, **storages: int) -> Launch:
    compiled: list[Any] = [SimpleNamespace(asm={"ptx": code}) for code in ptx]
    return Launch(SimpleNamespace(src=source), compiled=compiled, storages=storages)


@pytest.mark.parametrize(
    ("code", "adds"),
    [
        ("\t@%p1 atom.global.gpu.acq_rel.add.f32 %r1, [ %rd1 + 0 ], %r2;", True),
        ("\tred.global.add.noftz.f16x2 [%rd1], %r2;", True),
        ("\tcp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {%r1}], [%r2];", True),
        ("\tatom.global.gpu.acq_rel.add.u32 %r1, [%rd1], 1;", False),
        ("\tatom.global.max.s32 %r1, [%rd1], %r2;\n\tadd.f32 %f1, %f2, %f3;", False),
    ],
)
def test_the_code_says_whether_floats_are_added(code: str, adds: bool) -> None:
    assert adds_floats(launch("def kernel():\n    pass\n", code)) is adds


def test_without_code_the_source_does() -> None:
    assert adds_floats(launch(ADDS)) and not adds_floats(launch(READS)) and not adds_floats(launch(HELPED))


def test_the_memory_that_is_added_to_is_reached_and_what_is_computed_from_it() -> None:
    first = launch(ADDS, x_ptr=1, out_ptr=2, count_ptr=3)
    later = launch(READS, y_ptr=2, scale_ptr=4, z_ptr=5)
    results = {"x": 1, "out": 2, "count": 3, "scale": 4, "z": 5, "by torch": 6}
    assert unordered([first], results) >= {"out", "by torch"} and not unordered([first], results) & {"x", "count"}
    assert unordered([first, later], results) == {"out", "z", "by torch"}
    assert unordered([later, first], results) == {"out", "by torch"}
    assert unordered([later], results) == set()


def test_of_what_a_helper_adds_to_nothing_is_known() -> None:
    atomic = "red.global.add.f32 [%rd1], %f1;"
    assert unordered([launch(HELPED, atomic, x_ptr=1, out_ptr=2)], {"x": 1, "out": 2, "other": 3}) == {
        "x",
        "out",
        "other",
    }
