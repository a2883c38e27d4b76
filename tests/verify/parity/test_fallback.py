"""Which way a launch of a staged port takes, and that the report says so."""

import re
from inspect import Parameter
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.verify.parity.sources import edited
from tritonport.verify.fallback import Way, fallbacks_of, notes_of, summary_of, ways_of
from tritonport.verify.launches import Launch
from tritonport.verify.parity import run_tier
from tritonport.verify.request import Request

FIXTURES = Path(__file__).parents[3] / "fixtures"
STAGED = """
@gluon.jit
def kernel(a_ptr, NUM_BUFFERS, a_desc, b_desc):
    if a_desc is None or b_desc is None or NUM_BUFFERS < 2:
        kernel_pointers(a_ptr)
    else:
        kernel_tiles(a_desc, b_desc)
"""


class Function:
    """In place of a jitted function."""

    def __init__(self, name, *params):
        self.fn = type(name, (), {})
        self.params = params


@pytest.mark.parametrize(
    ("absent", "buffers", "fallback"),
    [
        ((), 3, ()),
        (("a_desc",), 3, ("a_desc is None",)),
        (("a_ptr",), 2, ()),
        (("b_desc", "a_desc"), 1, ("a_desc is None", "b_desc is None", "NUM_BUFFERS < 2")),
    ],
)
def test_the_way_of_a_launch(absent, buffers, fallback):
    launch = Launch(Function("kernel"), numbers=dict(NUM_BUFFERS=buffers), absent=frozenset(absent))
    assert ways_of([launch, Launch(Function("other"))], fallbacks_of(STAGED)) == (Way("kernel", fallback),)


@pytest.mark.parametrize(
    "edit",
    [
        ("a_desc is None or b_desc is None or NUM_BUFFERS < 2", "helper(a_desc)"),
        ("a_desc is None or b_desc is None or NUM_BUFFERS < 2", "a_desc is None and helper(b_desc)"),
        ("        kernel_pointers(a_ptr)\n", "        kernel_pointers(a_ptr)\n        kernel_pointers(a_ptr)\n"),
        ("    if a_desc", "    x = 0\n    if a_desc"),
        ("    else:\n        kernel_tiles(a_desc, b_desc)\n", ""),
    ],
)
def test_a_branch_of_another_form_is_no_choice_between_two_ways(edit):
    assert fallbacks_of(edited(STAGED, edit)) == {}


def test_the_conditions_may_be_grouped():
    grouped = edited(STAGED, ("a_desc is None or b_desc is None", "(a_desc is None or b_desc is None)"))
    assert ways_of([Launch(Function("kernel"), absent=frozenset({"b_desc"}))], fallbacks_of(grouped)) == (
        Way("kernel", ("b_desc is None",)),
    )


@pytest.mark.parametrize(
    ("flag", "absent", "fallback"),
    [
        (True, ("b_desc",), ("FLAG and b_desc is None",)),
        (False, ("b_desc",), ()),
        (True, (), ()),
        (False, ("a_desc",), ("a_desc is None",)),
    ],
)
def test_a_descriptor_that_some_launches_need(flag, absent, fallback):
    switched = edited(STAGED, ("b_desc is None or NUM_BUFFERS < 2", "(FLAG and b_desc is None)"))
    launch = Launch(Function("kernel"), flags=dict(FLAG=flag), absent=frozenset(absent))
    assert ways_of([launch], fallbacks_of(switched)) == (Way("kernel", fallback),)


@pytest.mark.parametrize(
    ("needed", "fallback"),
    [
        ("STAGE & 1", True),
        ("STAGE & 2", False),
        ("STAGE & 1 and not FLAG", True),
        ("gl.cdiv(SIZE, 64) > 1", True),
        ("triton.cdiv(SIZE, 128) > 1", False),
        ("SIZE // 2 >= min(64, 32)", True),
        ('KIND == "sum"', True),
        ('KIND != "sum"', False),
        ("LEFT_OUT > 3", True),
        ("LEFT_OUT > 4", False),
        ("-SIZE < 0", True),
        ("(STRIDES[0] if FLAG else SIZE == 100)", True),
    ],
)
def test_what_a_descriptor_is_needed_for_may_be_computed(needed, fallback):
    """As flag_gems' autotuned attention has it: `STAGE & 1 and not PRE_LOAD_V`."""
    parameters = SimpleNamespace(name="LEFT_OUT", default=4), SimpleNamespace(name="SIZE", default=Parameter.empty)
    function = Function("kernel", *parameters)
    switched = edited(STAGED, ("b_desc is None or NUM_BUFFERS < 2", f"({needed} and b_desc is None)"))
    assert fallbacks_of(switched).keys() == {"kernel"}
    launch = Launch(
        function,
        numbers=dict(STAGE=1, SIZE=100),
        flags=dict(FLAG=False),
        words=dict(KIND="sum"),
        absent=frozenset({"b_desc"}),
    )
    (way,) = ways_of([launch], fallbacks_of(switched))
    assert bool(way.fallback) == fallback


@pytest.mark.parametrize("stage", ["tma", "multibuffer", "mma"])
def test_every_kernel_of_pointers_of_the_fixtures_is_a_fallback(stage):
    for port in FIXTURES.glob(f"*/expected/{stage}.py"):
        text = port.read_text(encoding="utf-8")
        kept = {name.removesuffix("_pointers") for name in re.findall(r"^def (\w+_pointers)\(", text, re.MULTILINE)}
        assert fallbacks_of(text).keys() == kept, port


def test_a_way_that_no_launch_takes_is_told():
    tiles, pointers = Way("kernel"), Way("kernel", ("a_desc is None",))
    assert summary_of([]) == "" and notes_of([]) == []
    assert summary_of([tiles, pointers]) == "; 1 of 2 launches by tiles"
    assert notes_of([tiles, pointers]) == ["kernel: 1 launches by tiles, 1 by pointers (a_desc is None: 1)"]
    assert "no launch of the case goes by tiles" in notes_of([pointers])[1]
    assert "no launch of the case goes by pointers" in notes_of([tiles])[1]


def test_the_report_counts_the_ways_of_a_staged_fixture():
    """Without TMA's units of 16 bytes in every row, most of the shapes of matmul's case take the pointers."""
    folder = FIXTURES / "matmul"
    kernel, case, port = (str(folder / name) for name in ("matmul.py", "matmul_case.py", "expected/tma.py"))
    result = run_tier(Request("T2", kernel, case, port, seeds=(0,), boundaries=False))
    fallback = [run["launches"][0]["fallback"] for run in result.data["runs"]]
    assert fallback[:2] == [["a_desc is None", "b_desc is None"], ["b_desc is None"]]
    assert fallback[2:] == [[], []]
    assert result.summary.endswith("; 2 of 4 launches by tiles")
    assert any("2 launches by tiles, 2 by pointers (b_desc is None: 2" in note for note in result.notes), result.notes
