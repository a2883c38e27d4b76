"""Inputs that lie in memory in another way."""

import pytest
import torch

from tests.verify.parity.sources import CASE, ORIGINAL, PORT, edited, write_project
from tritonport.report.diagnostic import InputError
from tritonport.verify.numeric_tier import run_emulated
from tritonport.verify.request import Request
from tritonport.verify.side import Variation
from tritonport.verify.verdict import Verdict
from tritonport.verify.views import KINDS, placed, read_views

VIEWED = edited(CASE, ("TOL =", 'VIEWS = dict(x="misaligned")\nTOL ='))


@pytest.mark.parametrize(
    ("kind", "strides", "offset"),
    [
        ("misaligned", (15, 5, 1), 1),
        ("padded", (18, 6, 1), 0),
        ("spread", (30, 10, 2), 0),
        ("transposed", (15, 1, 3), 0),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.float8_e5m2])
def test_the_same_values_lie_elsewhere(kind, strides, offset, dtype):
    x = torch.arange(30).reshape(2, 3, 5).to(dtype)
    view = placed(x, kind)
    assert torch.equal(view.float(), x.float()) and view.dtype == dtype
    assert (view.stride(), view.storage_offset()) == (strides, offset)
    assert view.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


def test_what_lies_between_is_poison_and_a_leaf_stays_one():
    view = placed(torch.ones(2, 3, requires_grad=True), "padded")
    assert view.requires_grad and view.is_leaf
    gaps = torch.as_strided(view.detach(), (2,), (4,), 3)
    assert bool(gaps.isnan().all())


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_tensor_stays_empty(kind):
    assert placed(torch.empty(4, 0), kind).shape == (4, 0)


@pytest.mark.parametrize("given", [["x"], dict(x="odd"), dict(x=("padded", "odd"))])
def test_what_is_no_views(given):
    with pytest.raises(ValueError):
        read_views(given)


def check(folder, port=PORT, case=VIEWED, original=ORIGINAL, **fields):
    write_project(folder, case=case, port=port, original=original)
    kernel, case_file, port_file = (str(folder / name) for name in ("scale.py", "scale_case.py", "port.py"))
    return run_emulated(Request("T2", kernel, case_file, port_file, seeds=(0,), **fields))


def test_each_view_is_run_and_reported(tmp_path):
    result = check(tmp_path)
    assert result.verdict is Verdict.PASS
    assert [run["views"] for run in result.data["runs"]] == [{}, {"x": "misaligned"}]
    assert len(check(tmp_path, boundaries=False).data["runs"]) == 1


def test_a_port_that_is_wrong_for_a_view_alone_fails(tmp_path):
    """One that takes the elements of a row for neighbours."""
    strided = ("scale_kernel[(triton.cdiv(x.numel(), 128),)](x,", "scale_kernel[(triton.cdiv(x.numel(), 128),)](x{},")
    original = edited(ORIGINAL, (strided[0], strided[1].format(".contiguous()")))
    result = check(tmp_path, case=edited(VIEWED, ("misaligned", "spread")), original=original)
    assert result.verdict is Verdict.FAIL
    assert "(seed 0 spread x)" in result.findings[0].message
    assert str(Variation(1, views=(("x", "spread"),))) == "seed 1 spread x"


def test_a_failure_with_a_view_is_saved_and_run_again(tmp_path):
    original = edited(ORIGINAL, ("](x, out", "](x.contiguous(), out"))
    case = edited(VIEWED, ("misaligned", "spread"))
    check(tmp_path, case=case, original=original, save_dir=str(tmp_path / "saved"))
    (saved,) = (tmp_path / "saved").iterdir()
    assert saved.name == "scale-T2-seed0-spread-x.pt"
    again = check(tmp_path, case=case, original=original, replay=str(saved))
    assert again.verdict is Verdict.FAIL
    assert [run["views"] for run in again.data["runs"]] == [{"x": "spread"}]


@pytest.mark.parametrize(("old", "new"), [('x="mis', 'factor="mis'), ('"misaligned"', '"padded"')])
def test_an_input_that_cannot_be_placed_so_is_an_error_of_the_case(tmp_path, old, new):
    result = check(tmp_path, case=edited(VIEWED, (old, new)))
    assert result.verdict is Verdict.ERROR


def test_views_that_are_none_are_an_error_of_the_protocol(tmp_path):
    with pytest.raises(InputError, match="none of misaligned, padded"):
        check(tmp_path, case=edited(VIEWED, ("misaligned", "odd")))
