"""Boundary shapes: sizes at the edges of the blocks that cut them."""

import pytest
import torch

from tests.verify.parity.sources import CASE, PORT, edited, write_project
from tritonport.report.diagnostic import InputError
from tritonport.verify.boundary import Size, boundary_variations, read_sizes
from tritonport.verify.launches import Launch
from tritonport.verify.numeric_tier import run_emulated
from tritonport.verify.poison import is_poison
from tritonport.verify.request import Request
from tritonport.verify.side import Variation
from tritonport.verify.tensors import raw_bytes
from tritonport.verify.verdict import Verdict

SIZED = edited(
    CASE,
    ("TOL =", 'SIZES = dict(n="BLOCK")\nTOL ='),
    ("seed=0):", "seed=0, n=256):"),
    ("torch.randn(300,", "torch.randn(n,"),
)


def check(folder, case=SIZED, port=PORT, **fields):
    write_project(folder, case=case, port=port)
    original, case_file, port_file = (str(folder / name) for name in ("scale.py", "scale_case.py", "port.py"))
    return run_emulated(Request("T2", original, case_file, port_file, seeds=(0,), **fields))


def sizes_of(result):
    return [run["sizes"] for run in result.data["runs"]]


def test_the_sizes_at_the_edges_of_a_block():
    assert Size("BLOCK").values(128) == (1, 127, 128, 129)
    assert Size("BLOCK", 0).values(32) == (0, 1, 31, 32, 33)
    assert Size(1).values(1) == (1, 2)
    assert Size(16, 2).values(16) == (2, 15, 16, 17)


def test_the_block_is_the_largest_that_was_launched():
    launches = [Launch(None, numbers=dict(n=999, BLOCK=64)), Launch(None, numbers=dict(BLOCK=128))]
    found, notes = boundary_variations(read_sizes(dict(n="BLOCK", rows=("ROWS", 0))), 3, launches)
    assert found == [Variation(3, sizes=(("n", value),)) for value in (1, 127, 128, 129)]
    assert notes == ["SIZES of the case: no launch has a ROWS for rows"]
    assert str(found[0]) == "seed 3 n=1"


@pytest.mark.parametrize("given", [["n"], dict(n=0), dict(n=1.5), dict(n=("BLOCK", -1)), dict(n=("BLOCK", 0, 1))])
def test_what_is_no_sizes(given):
    with pytest.raises(ValueError):
        read_sizes(given)


def test_each_size_is_run_and_reported(tmp_path):
    result = check(tmp_path)
    assert result.verdict is Verdict.PASS
    assert sizes_of(result) == [{}, {"n": 1}, {"n": 127}, {"n": 128}, {"n": 129}]
    # The plain case has whole blocks only, and none of its own inputs turns a mask off.
    assert not any("turns off a lane" in note for note in result.notes)


def test_a_fault_that_only_a_boundary_shows(tmp_path):
    """A last block of one element, or of all but one, is lost."""
    lost = ("mask = offs < n", "mask = offs < n - n % 128")
    plain = edited(SIZED, ('SIZES = dict(n="BLOCK")\n', ""))
    assert check(tmp_path / "without", plain, edited(PORT, lost)).verdict is Verdict.PASS
    result = check(tmp_path / "with", SIZED, edited(PORT, lost))
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].message.endswith("also with seed 0 n=127, seed 0 n=129")
    assert "(seed 0 n=1)" in result.findings[0].message
    asked_for_less = check(tmp_path / "less", SIZED, edited(PORT, lost), boundaries=False)
    assert asked_for_less.verdict is Verdict.PASS and not any(sizes_of(asked_for_less))


def test_a_failure_at_a_boundary_replays(tmp_path):
    lost = edited(PORT, ("mask = offs < n", "mask = offs < n - n % 128"))
    check(tmp_path, SIZED, lost, save_dir=str(tmp_path / "saved"))
    saved = tmp_path / "saved" / "scale-T2-seed0-n129.pt"
    result = check(tmp_path, SIZED, lost, replay=str(saved))
    assert result.verdict is Verdict.FAIL and sizes_of(result) == [{"n": 129}]


def test_sizes_that_make_inputs_does_not_take_are_an_error(tmp_path):
    with pytest.raises(InputError, match="whose keys are parameters of make_inputs"):
        check(tmp_path, edited(SIZED, ("dict(n=", "dict(m=")))
    result = check(tmp_path, edited(SIZED, ('"BLOCK")', "-1)")))
    assert (result.verdict, result.findings[0].code) == (Verdict.ERROR, "TP813")


def test_the_bytes_of_one_element_with_a_stride():
    """Contiguous for torch, and not to be viewed as bytes."""
    one = torch.arange(4, dtype=torch.float32)[::2][:1]
    assert raw_bytes(one).view(torch.float32).tolist() == [0.0]
    assert is_poison(one).tolist() == [False]
    assert raw_bytes(torch.ones(2, 3).t()).numel() == 24
