"""T2: what the emulator shows of right and wrong ports. T3 has the same code around it and a GPU in its place."""

import re
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from tests.verify.parity.sources import CASE, ORIGINAL, PORT, edited, write_project
from tritonport.verify import hints
from tritonport.verify.device import target_for
from tritonport.verify.launches import pinned_autotuners
from tritonport.verify.numeric_tier import _run
from tritonport.verify.parity import run_tier
from tritonport.verify.poison import GUARD
from tritonport.verify.request import Request
from tritonport.verify.side import emulator
from tritonport.verify.verdict import Verdict


def emulate(folder, *, tier="T2", **fields):
    request = Request(tier, str(folder / "scale.py"), str(folder / "scale_case.py"), str(folder / "port.py"), **fields)
    return run_tier(request)


def spoil(tmp_path, *edits, original=(), case=()):
    """The result of T2 with edits of the port, the original and the case."""
    write_project(tmp_path, port=edited(PORT, *edits), original=edited(ORIGINAL, *original), case=edited(CASE, *case))
    return emulate(tmp_path)


def line_of(text, part):
    return 1 + next(number for number, line in enumerate(text.splitlines()) if part in line)


STORE = "gl.store(out_ptr + offs, x * factor, mask=mask)"


def test_a_right_port_passes_bit_for_bit(tmp_path):
    result = spoil(tmp_path)
    assert (result.verdict, result.findings, result.notes) == (Verdict.PASS, (), ())
    assert result.summary == "3 results of 3 runs equal bit for bit"
    assert [run["seed"] for run in result.data["runs"]] == [0, 1, 2]
    assert result.data["kernels"] == [{"name": "scale_kernel", "gluon": True}]


def test_seeds_are_those_of_the_call_then_of_the_case(tmp_path):
    write_project(tmp_path, case=edited(CASE, ("TOL = dict", "seeds = [5]\nTOL = dict")))
    assert [run["seed"] for run in emulate(tmp_path).data["runs"]] == [5]
    assert [run["seed"] for run in emulate(tmp_path, seeds=(7, 8)).data["runs"]] == [7, 8]


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        pytest.param(
            STORE, STORE.replace("offs,", "offs + 1,"), "TP807", "out-of-bounds store: 4 bytes", id="wrong offset"
        ),
        pytest.param(STORE, STORE.replace(", mask=mask", ""), "TP807", "out-of-bounds store: 4 bytes", id="no mask"),
        pytest.param(
            "gl.load(x_ptr + offs, mask=mask, other=0.0)", "gl.load(x_ptr + offs)", "TP807", "load", id="no load mask"
        ),
        pytest.param("x * factor", "x * no_such_name", "TP804", "no_such_name", id="unknown name"),
        pytest.param(
            "    gl.store(", "    while n > 0:\n        n += 0\n    gl.store(", "TP803", "never end", id="endless loop"
        ),
    ],
)
def test_what_the_emulator_refuses_is_a_failure_at_the_line_of_the_port(tmp_path, old, new, code, words):
    result = spoil(tmp_path, (old, new))
    assert result.verdict is Verdict.FAIL
    found = result.findings[0]
    assert (found.code, found.path, found.kernel) == (code, str(tmp_path / "port.py"), "scale_kernel")
    assert words in found.message
    changed = new.splitlines()[0].strip()
    assert found.line == line_of(edited(PORT, (old, new)), changed)


def test_values_that_differ_are_reported_at_the_kernel_that_computed_them(tmp_path):
    result = spoil(tmp_path, ("x * factor", "x * factor + 0.25"))
    assert result.verdict is Verdict.FAIL
    assert result.summary == "3 of 3 runs"
    found = result.findings[0]
    assert (found.code, found.path, found.kernel) == ("TP801", str(tmp_path / "scale.py"), "scale_kernel")
    assert found.line == line_of(ORIGINAL, "def scale_kernel")
    assert found.message.startswith("result differs at [0]: port -0.0877519")
    assert "300 of 300 elements, max 0.25 rms 0.25" in found.message
    assert "atol=0.25" in found.message and "would pass (seed 0)" in found.message
    assert found.message.endswith("; first in out_ptr after launch 1, scale_kernel; also with seed 1, seed 2")


def test_rounding_through_a_narrower_type_fails(tmp_path):
    result = spoil(tmp_path, ("x * factor", "(x * factor).to(gl.bfloat16).to(gl.float32)"))
    assert result.verdict is Verdict.FAIL
    assert re.search(r"against float64: port max 0\.00\d+ .*, original max .*e-0\d", result.findings[0].message)


def test_another_order_of_arithmetic_passes_within_tolerance(tmp_path):
    result = spoil(tmp_path, ("x * factor", "x / (1.0 / factor)"), case=[("atol=0.0", "atol=1e-6")])
    assert result.verdict is Verdict.PASS_TOLERANCE
    assert "would pass" in result.notes[0]
    difference = result.data["runs"][0]["differences"][0]
    assert difference["name"] == "result" and difference["tolerable"] and difference["ulp"] <= 2
    assert 0 < difference["passing_atol"] < 1e-6


def test_without_a_reference_integers_pass_by_equal_bits_alone(tmp_path):
    whole = ("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.int32)")
    port = [whole, ("x * factor", "(x * factor * 99).to(gl.int32) + 1")]
    original = [whole, ("x * factor", "(x * factor * 99).to(tl.int32)")]
    result = spoil(tmp_path, *port, original=original, case=[("def reference", "def no_reference")])
    assert result.verdict is Verdict.FAIL
    assert "there is no reference to judge it by" in result.findings[0].message


def test_an_output_that_is_not_written_is_seen(tmp_path):
    result = spoil(tmp_path, ("mask = offs < n", "mask = offs < n - 1"))
    assert result.verdict is Verdict.FAIL
    found = result.findings[0]
    assert found.code == "TP802"
    assert found.message.startswith("result differs at [299]: port nan, original")
    assert "1 not written by the port" in found.message


def test_a_nan_that_is_lost_is_seen(tmp_path):
    nan = (".to(device), factor=0.3)", '.to(device) * float("nan"), factor=0.3)')
    assert spoil(tmp_path / "a", case=[nan]).verdict is Verdict.PASS
    result = spoil(tmp_path / "b", ("x * factor", "gl.maximum(x * factor, -5.0)"), case=[nan])
    assert (result.verdict, result.findings[0].code) == (Verdict.FAIL, "TP802")
    assert "port -5, original nan" in result.findings[0].message


def test_another_type_or_structure_fails(tmp_path):
    result = spoil(tmp_path / "a", ("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float64)"))
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].message.startswith("result differs: port float64[300] on cpu, original float32[300]")
    result = spoil(tmp_path / "b", ("return out", "return out, out"))
    assert result.findings[0].message.startswith("the port returns 2 results, the original 1 result")


def test_inputs_that_only_the_port_changes_are_seen(tmp_path):
    result = spoil(tmp_path, (STORE, f"{STORE}\n    gl.store(x_ptr + offs, x + 1.0, mask=mask & (offs < 2))"))
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].message.startswith("input x differs at [0]")
    assert "2 of 300 elements" in result.findings[0].message


IN_PLACE = [("scale_kernel[", "out = x\n    scale_kernel[")]


def test_a_kernel_that_works_in_place_gets_fresh_inputs_each_time(tmp_path):
    case = [("    return scale(x, factor)", "    scale(x, factor)"), ("def reference", "def no_reference")]
    result = spoil(tmp_path, *IN_PLACE, original=IN_PLACE, case=case)
    assert (result.verdict, result.summary) == (Verdict.PASS, "3 results of 3 runs equal bit for bit")
    spoiled = spoil(tmp_path, *IN_PLACE, ("x * factor", "x * factor * 1.5"), original=IN_PLACE, case=case)
    assert spoiled.verdict is Verdict.FAIL
    assert spoiled.findings[0].message.startswith("input x differs")


def test_a_changed_input_that_is_returned_counts_once(tmp_path):
    result = spoil(tmp_path, *IN_PLACE, original=IN_PLACE)
    assert (result.verdict, result.data["runs"][0]["compared"]) == (Verdict.PASS, 1)


def test_an_original_that_is_wrong_is_no_failure_of_the_port(tmp_path):
    result = spoil(tmp_path, case=[("return x * factor", "return x * factor + 1")])
    assert result.verdict is Verdict.NOT_COMPARABLE
    message = result.findings[0].message
    assert message.startswith("the original is wrong, and the port computes the same: result is wrong at [0]")
    result = spoil(tmp_path, ("x * factor", "x + factor"), case=[("return x * factor", "return x * factor + 1")])
    assert result.findings[0].message.startswith("the original is wrong, and the port differs from it")


REMOVED = [("offs = tl.program_id(0)", 'tl.static_assert(BLOCK < 0, "removed")\n    offs = tl.program_id(0)')]


def test_where_the_original_cannot_run_the_reference_is_the_measure(tmp_path):
    close = ("TOL = dict(atol=0.0, rtol=0.0)", "TOL = dict(atol=1e-6)")
    result = spoil(tmp_path / "a", original=REMOVED, case=[close])
    assert result.verdict is Verdict.PASS_TOLERANCE
    assert result.notes[0].startswith("seed 0: compared with reference, because the original does not run here at ")
    assert f"scale.py:{line_of(ORIGINAL, 'offs = tl')}:1: " in result.notes[0]
    result = spoil(tmp_path / "b", ("x * factor", "x + factor"), original=REMOVED, case=[close])
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].message.startswith("result is wrong at [0]")
    result = spoil(tmp_path / "c", original=REMOVED, case=[("def reference", "def no_reference")])
    assert result.verdict is Verdict.NOT_COMPARABLE
    assert result.findings[0].message.endswith("and the case has no reference (seed 0); also with seed 1, seed 2")


def test_where_neither_side_runs_nothing_is_known(tmp_path):
    result = spoil(tmp_path, case=[("    return scale(x, factor)", "    return scale(x, 'half')")])
    assert result.verdict is Verdict.NOT_COMPARABLE
    assert result.findings[0].message.startswith("the original does not run here")
    assert "; nor does the port: " in result.findings[0].message


def test_a_case_that_raises_is_an_error_at_its_line(tmp_path):
    for folder, old, new in (
        ("inputs", "    return dict(x=", "    return dict(y=[][0], x="),
        ("launch", "    return scale(", "    raise LookupError('no shape')\n    return scale("),
        ("reference", "    return x * factor", "    return x * missing"),
    ):
        result = spoil(tmp_path / folder, case=[(old, new)])
        assert result.verdict is Verdict.ERROR, folder
        found = result.findings[0]
        assert found.code == "TP804"
        assert found.path == str(tmp_path / folder / "scale_case.py")
        assert found.line == line_of(edited(CASE, (old, new)), new.splitlines()[0].strip())
        assert "of the case raises (original)" in found.message


def test_a_port_that_raises_at_import_or_in_its_host_code_fails(tmp_path):
    result = spoil(tmp_path / "a", ("import torch\n", "import torch\nimport no_such_module\n"))
    assert (result.verdict, result.findings[0].line) == (Verdict.FAIL, 4)
    assert "No module named 'no_such_module'" in result.findings[0].message
    result = spoil(tmp_path / "b", ("out = torch.empty_like(x)", "out = torch.empty_like(y)"))
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].line == line_of(PORT, "out = torch.empty_like(x)")
    assert "the port raises (seed 0): NameError" in result.findings[0].message


def test_a_port_that_lacks_what_the_case_imports_fails_and_the_case_is_named(tmp_path):
    result = spoil(tmp_path, ("def scale(", "def rescale("))
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].path == str(tmp_path / "scale_case.py")
    assert "cannot import name 'scale'" in result.findings[0].message


@pytest.mark.parametrize(
    ("original", "port", "case", "words"),
    [
        (
            [],
            [],
            [("    return scale(x, factor)", "    return x * factor")],
            "the case launches no kernel",
        ),
        (
            [("scale_kernel[", "x.mul_(1)\n    return None\n    scale_kernel[")],
            [("    return out", "    return None")],
            [("def reference", "def no_reference")],
            "the original returns no tensor and changes none of its inputs",
        ),
        (
            [("tl.store(out_ptr + offs, x * factor, mask=mask)", "tl.store(out_ptr + offs, x, mask=offs < 0)")],
            [],
            [("def reference", "def no_reference")],
            "the original writes nothing into its results",
        ),
    ],
)
def test_what_shows_nothing_about_the_port_is_not_comparable(tmp_path, original, port, case, words):
    result = spoil(tmp_path, *port, original=original, case=case)
    assert result.verdict is Verdict.NOT_COMPARABLE
    assert words in result.findings[0].message


def test_inputs_that_change_from_call_to_call_are_not_comparable(tmp_path):
    clock = ("torch.randn(300, generator=torch.Generator().manual_seed(seed))", "torch.full((300,), time.time_ns())")
    result = spoil(tmp_path, case=[("import torch\n", "import time\n\nimport torch\n"), clock])
    assert result.verdict is Verdict.NOT_COMPARABLE
    message = result.findings[0].message
    assert message.startswith("make_inputs gives other inputs when it is called again with the same seed: x differs")


def test_an_input_that_is_not_initialised_is_written_by_the_kernels_or_nothing(tmp_path):
    case = [
        ("return dict(", "return dict(spare=torch.empty(64, device=device, dtype=torch.float64), "),
        ("def launch(", "def launch(spare, "),
        ("def reference(", "def reference(spare, "),
    ]
    assert spoil(tmp_path, case=case).verdict is Verdict.PASS


def test_a_case_that_runs_the_original_behind_the_port_s_back_is_not_comparable(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "original.py").write_text(ORIGINAL)
    sneaky = f"import sys\n\nsys.path.insert(0, {str(tmp_path / 'elsewhere')!r})\nfrom original import scale\n"
    result = spoil(
        tmp_path, case=[("from scale import scale, scale_kernel\n", f"from scale import scale_kernel\n{sneaky}")]
    )
    assert result.verdict is Verdict.NOT_COMPARABLE
    assert "launches no Gluon kernel of the port, only scale_kernel as Triton" in result.findings[0].message


def test_the_global_random_state_is_the_same_on_both_sides(tmp_path):
    drawn = [("generator=torch.Generator().manual_seed(seed)", "requires_grad=False")]
    result = spoil(tmp_path, case=drawn)
    assert result.verdict is Verdict.PASS


def test_a_reference_of_another_structure_is_an_error_of_the_case(tmp_path):
    result = spoil(tmp_path, case=[("return x * factor", "return x * factor, x")])
    assert (result.verdict, result.findings[0].code) == (Verdict.ERROR, "TP813")
    assert result.findings[0].message == "reference returns 2 results, launch 1 result"


def test_kernels_that_the_case_does_not_launch_are_named(tmp_path):
    second = """

@gluon.jit
def other_kernel(x_ptr):
    gl.store(x_ptr, 0.0)


def other(x):
    other_kernel[(1,)](x)
"""
    write_project(tmp_path, port=PORT + second)
    assert emulate(tmp_path).notes == ("not launched by the case: other_kernel",)


TUNED = [
    ("@{}.jit\n", '@triton.autotune([triton.Config({{"BLOCK": b}}) for b in (128, 64, 256)], key=["n"])\n@{}.jit\n'),
    ("factor, BLOCK=128)", "factor)"),
    ("(triton.cdiv(x.numel(), 128),)", "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)"),
]


def test_every_configuration_of_an_autotuned_kernel_is_compared(tmp_path):
    original, port = ([(old.format(name), new.format(name)) for old, new in TUNED] for name in ("triton", "gluon"))
    result = spoil(tmp_path / "a", *port, original=original)
    assert (result.verdict, result.summary) == (Verdict.PASS, "5 results of 5 runs equal bit for bit")
    assert [(run["seed"], run["configuration"]) for run in result.data["runs"]] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (0, 1),
        (0, 2),
    ]
    only_wide = ("x * factor", "x * factor + (0.25 if BLOCK == 256 else 0.0)")
    result = spoil(tmp_path / "b", *port, only_wide, original=original)
    assert (result.verdict, result.summary) == (Verdict.FAIL, "1 of 5 runs")
    assert "(seed 0 configuration 2)" in result.findings[0].message


def test_a_failure_that_cannot_be_saved_is_a_failure_all_the_same(tmp_path):
    write_project(tmp_path, port=edited(PORT, ("x * factor", "x * factor + 0.25")))
    result = emulate(tmp_path, save_dir=str(tmp_path / "port.py"), seeds=(4,))
    assert result.verdict is Verdict.FAIL
    assert result.notes[0].startswith(f"seed 4: cannot be saved in {tmp_path / 'port.py'}: FileExistsError")


def test_a_port_that_is_the_original_is_not_comparable(tmp_path):
    write_project(tmp_path, port=ORIGINAL)
    result = emulate(tmp_path)
    assert result.verdict is Verdict.NOT_COMPARABLE
    assert "no kernel was converted" in result.findings[0].message


def test_a_saved_failure_replays(tmp_path):
    write_project(tmp_path, port=edited(PORT, ("x * factor", "x * factor + 0.25")))
    result = emulate(tmp_path, save_dir=str(tmp_path / "saved"), seeds=(4,))
    file = tmp_path / "saved" / "scale-T2-seed4.pt"
    assert result.notes == (f"seed 4: saved as {file}",)
    saved = torch.load(file, weights_only=True)
    torch.testing.assert_close(saved["inputs"]["x"], torch.randn(300, generator=torch.Generator().manual_seed(4)))
    assert saved["original"]["result"].shape == saved["result"]["result"].shape == (300,)
    again = emulate(tmp_path, replay=str(file))
    assert again.findings[0].message.startswith(result.findings[0].message.partition(" (seed")[0])
    assert [run["seed"] for run in again.data["runs"]] == [4]
    write_project(tmp_path)
    assert emulate(tmp_path, replay=str(file)).verdict is Verdict.PASS


def test_a_file_that_is_no_saved_failure(tmp_path):
    write_project(tmp_path)
    (tmp_path / "junk.pt").write_text("junk")
    result = emulate(tmp_path, replay=str(tmp_path / "junk.pt"))
    assert (result.verdict, result.findings[0].code) == (Verdict.ERROR, "TP002")


@contextmanager
def guarded_emulator():
    """The emulator with the guards of a GPU run: its own bounds are those of a tensor's memory, guards included."""
    with emulator("sm_90", 60.0) as backend, pinned_autotuners(backend.choice):
        yield replace(backend, guard=GUARD)


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ("offs, x * factor, mask=mask)", "offs, x * factor)", "TP807", "336 bytes written outside of empty_like[0]"),
        ("offs, x * factor, mask=mask)", "offs + 1, x * factor, mask=mask)", "TP802", "1 not written by the port"),
        ("offs, mask=mask, other=0.0)", "offs + 1)", "TP802", "differs at [299]: port nan"),
    ],
)
def test_guards_show_on_a_gpu_what_the_emulator_shows_by_itself(tmp_path, old, new, code, words):
    write_project(tmp_path, port=edited(PORT, (old, new)))
    folder = tmp_path
    request = Request("T3", str(folder / "scale.py"), str(folder / "scale_case.py"), str(folder / "port.py"))
    result = _run(request, guarded_emulator, "sm_90")
    assert result.verdict is Verdict.FAIL
    assert code in [found.code for found in result.findings]
    assert any(words in found.message for found in result.findings)


def test_on_a_gpu_too_each_configuration_is_pinned_in_turn(tmp_path):
    original, port = ([(old.format(name), new.format(name)) for old, new in TUNED] for name in ("triton", "gluon"))
    only_last = ("x * factor", "x * factor + (0.25 if BLOCK == 256 else 0.0)")
    write_project(tmp_path, original=edited(ORIGINAL, *original), port=edited(PORT, *port, only_last))
    files = [str(tmp_path / name) for name in ("scale.py", "scale_case.py", "port.py")]
    result = _run(Request("T3", files[0], files[1], files[2], seeds=(0,)), guarded_emulator, "sm_90")
    assert [run["verdict"] for run in result.data["runs"]] == ["PASS", "PASS", "FAIL"]


COUNTER = [
    ("def scale(", "CALLS = []\n\n\ndef scale("),
    ("return out", "CALLS.append(0)\n    return out + len(CALLS) * 1e-7"),
]
"""Edits after which each run is farther from the reference than the one before."""
CLOSE = ("TOL = dict(atol=0.0", "TOL = dict(atol=1e-4")


def repeated(folder, *, original=(), port=(), case=(CLOSE,)):
    """The result of T3 on seed 0, with edits of the three files."""
    write_project(folder, original=edited(ORIGINAL, *original), port=edited(PORT, *port), case=edited(CASE, *case))
    files = [str(folder / name) for name in ("scale.py", "scale_case.py", "port.py")]
    return _run(Request("T3", files[0], files[1], files[2], seeds=(0,)), guarded_emulator, "sm_90")


def test_a_port_whose_runs_differ_fails_unless_the_original_s_do_too(tmp_path):
    result = repeated(tmp_path / "port", port=COUNTER)
    assert result.verdict is Verdict.FAIL
    found = next(found for found in result.findings if found.code == "TP812")
    assert "two runs of the port differ in result, 16 of the original agree in result" in found.message
    result = repeated(tmp_path / "both", original=COUNTER, port=COUNTER)
    assert result.verdict is Verdict.PASS_TOLERANCE
    assert "seed 0: two runs of the port differ in result" in result.notes
    assert "seed 0: 16 runs of the original differ in result" in result.notes


@pytest.mark.parametrize(
    ("error", "case", "verdict"),
    [
        pytest.param("2e-6", [CLOSE], Verdict.PASS_TOLERANCE, id="within twice the worst run"),
        pytest.param("9e-6", [CLOSE], Verdict.FAIL, id="beyond"),
        pytest.param("2e-6", [CLOSE, ("def reference", "def no_reference")], Verdict.PASS_TOLERANCE, id="no reference"),
        pytest.param("9e-6", [CLOSE, ("def reference", "def no_reference")], Verdict.FAIL, id="no reference, beyond"),
        pytest.param("2e-6", [("atol=0.0", "atol=8e-7")], Verdict.NOT_COMPARABLE, id="a wrong run of the original"),
    ],
)
def test_a_port_is_held_to_the_worst_of_many_runs_of_an_original_that_moves(tmp_path, error, case, verdict):
    result = repeated(tmp_path, original=COUNTER, port=[("return out", f"return out + {error}")], case=case)
    assert result.verdict is verdict, result
    said = [*result.notes, *(found.message for found in result.findings)]
    assert any("of 16 runs" in text for text in said)


@pytest.mark.parametrize(("step", "verdict"), [("1e-7", Verdict.PASS_TOLERANCE), ("1e-5", Verdict.FAIL)])
def test_each_run_of_a_port_with_atomics_is_held_to_the_bound(tmp_path, step, verdict):
    """Its first run is right to the bit; only the second shows what is wrong."""
    moving = f"CALLS.append(0)  # atomic\n    return out + 1e-6 + (len(CALLS) - 1) * {step}"
    edits = [COUNTER[0], ("return out", moving)]
    result = repeated(tmp_path, port=edits, original=[("return out", "return out + 1e-6")])
    assert result.verdict is verdict, result


def test_a_port_that_raises_when_it_runs_again_fails(tmp_path):
    edits = [COUNTER[0], ("return out", "CALLS.append(0)\n    assert len(CALLS) == 1\n    return out")]
    result = repeated(tmp_path, port=edits)
    assert result.verdict is Verdict.FAIL
    assert "the port raises (seed 0): AssertionError" in result.findings[0].message


@pytest.mark.parametrize(
    ("capability", "target"), [(75, "sm_80"), (80, "sm_80"), (87, "sm_86"), (90, "sm_90"), (101, "sm_100")]
)
def test_a_gpu_gets_the_newest_architecture_that_it_can_run(capability, target):
    assert target_for(capability) == target


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(
    ("edits", "verdict"),
    [
        ([], Verdict.PASS),
        ([("x * factor", "x * factor + 0.25")], Verdict.FAIL),
        ([(STORE, STORE.replace(", mask=mask", ""))], Verdict.FAIL),
        ([("mask = offs < n", "mask = offs < n - 1")], Verdict.FAIL),
        ([("x * factor", "x * no_such_name")], Verdict.FAIL),
    ],
)
def test_on_a_gpu(tmp_path, edits, verdict):
    write_project(tmp_path, port=edited(PORT, *edits))
    result = emulate(tmp_path, tier="T3")
    assert result.verdict is verdict, result


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_t3_is_not_run(tmp_path):
    write_project(tmp_path)
    result = emulate(tmp_path, tier="T3")
    assert (result.verdict, result.summary) == (Verdict.NOT_RUN, "no GPU")


def test_masks_that_nothing_was_outside_of_are_named(tmp_path):
    """A case of whole blocks shows nothing about tails: `n + 1` in place of `n` would pass."""
    whole = ("torch.randn(300,", "torch.randn(256,")
    result = spoil(tmp_path, case=[whole])
    lines = [line_of(PORT, part) for part in ("gl.load(x_ptr", STORE)]
    assert result.verdict is Verdict.PASS
    assert [note.partition(":")[0] for note in result.notes] == [
        f"no input turns off a lane of the mask in line {line} of the port" for line in lines
    ]
    assert spoil(tmp_path).notes == ()


def test_inputs_that_could_not_run_leave_the_others_compared(tmp_path):
    """The summary counts what was equal and says which inputs were not compared, and the hint is about why."""
    variants = "def variants():\n    yield dict(factor=0.5)\n    yield dict(factor=-1.0)\n\n\ndef launch"
    silent = ("    return scale(x, factor)", "    return scale(x, factor) if factor > 0 else x * factor")
    result = spoil(tmp_path, case=[("def launch", variants), silent])
    assert result.verdict is Verdict.NOT_COMPARABLE
    uncompared = sum(run["verdict"] == "NOT-COMPARABLE" for run in result.data["runs"])
    equal = len(result.data["runs"]) - uncompared
    assert uncompared and equal
    assert result.summary.startswith(
        f"{equal} of {equal + uncompared} runs equal bit for bit, {uncompared} not compared; "
    )
    assert "seed 0 variant 2: the case launches no kernel" in result.summary
    assert result.findings[0].advice == hints.NO_LAUNCH


def test_the_hint_of_inputs_that_change_is_about_the_inputs(tmp_path):
    any_seed = ("manual_seed(seed)", "manual_seed(int.from_bytes(os.urandom(4), 'big'))")
    result = spoil(tmp_path, case=[any_seed, ("import torch", "import os\n\nimport torch")])
    assert [found.advice for found in result.findings[:1]] == [hints.OTHER_INPUTS]
