"""T0, T1, and the ends of a tier that only its process sees."""

import pytest

from tests.verify.parity.sources import CASE, ORIGINAL, PORT, edited, write_project
from tritonport.verify.parity import ParityOptions, check_file, check_files, run_tier, takes_part
from tritonport.verify.request import Request
from tritonport.verify.verdict import Verdict


def run(folder, tier, *, port="port.py", **fields):
    given = None if port is None else str(folder / port)
    return run_tier(Request(tier, str(folder / "scale.py"), str(folder / "scale_case.py"), given, **fields))


def test_t0_passes_a_conversion_and_a_port_in_a_file(tmp_path):
    write_project(tmp_path)
    for port in (None, "port.py"):
        result = run(tmp_path, "T0", port=port)
        assert (result.verdict, result.summary, result.findings) == (Verdict.PASS, "1 Gluon function", ())


def test_t0_fails_a_port_that_does_not_parse(tmp_path):
    write_project(tmp_path, port="def scale(:\n")
    result = run(tmp_path, "T0")
    assert (result.verdict, result.findings[0].code) == (Verdict.FAIL, "TP001")
    assert (result.findings[0].path, result.findings[0].line) == (str(tmp_path / "port.py"), 1)


def test_t0_fails_a_port_that_lost_a_kernel_or_kept_it(tmp_path):
    write_project(tmp_path, port=edited(PORT, ("def scale_kernel", "def other_kernel")))
    found = run(tmp_path, "T0").findings[0]
    assert (found.code, found.kernel, found.path) == ("TP815", "scale_kernel", str(tmp_path / "scale.py"))
    assert found.message == "scale_kernel is not in the port"
    assert found.line == 1 + ORIGINAL.splitlines().index(
        "def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):"
    )
    write_project(tmp_path, port=ORIGINAL)
    result = run(tmp_path, "T0")
    assert [found.code for found in result.findings] == ["TP815", "TP808"]
    assert result.findings[0].message == "scale_kernel is Triton in the port still"
    assert result.findings[1].path == str(tmp_path / "port.py")
    assert "changes it at line" in result.findings[1].message


def test_t0_reports_the_errors_of_the_conversion(tmp_path):
    spoiled = edited(ORIGINAL, ("x * factor, mask", "x.sort() * factor, mask"))
    write_project(tmp_path, original=spoiled)
    result = run(tmp_path, "T0", port=None)
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].kernel == "scale_kernel"
    assert result.findings[0].line == 1 + next(
        number for number, line in enumerate(spoiled.splitlines()) if "sort" in line
    )
    # The kernel that was left is reported once.
    assert "TP815" not in [found.code for found in result.findings]


def test_t0_of_a_file_that_does_not_parse_or_holds_no_kernel(tmp_path):
    write_project(tmp_path, original="import torch\n\nx = (\n")
    result = run(tmp_path, "T0", port=None)
    assert (result.verdict, result.findings[0].code, result.findings[0].line) == (Verdict.ERROR, "TP001", 3)
    write_project(tmp_path, original="x = 1\n")
    result = run(tmp_path, "T0", port=None)
    assert (result.verdict, result.findings[0].code) == (Verdict.NOT_COMPARABLE, "TP003")


def test_t1_compiles_every_specification_and_expects_the_refusals(tmp_path):
    write_project(tmp_path)
    result = run(tmp_path, "T1", targets=("sm_80", "sm_90"))
    assert (result.verdict, result.findings) == (Verdict.PASS, ())
    assert result.summary == "4 of 4 specifications for sm_80, sm_90"
    rows = result.data["kernels"]
    assert [row["target"] for row in rows] == ["sm_80", "sm_80", "sm_90", "sm_90"]
    assert ["BLOCK=128" in row["specification"] for row in rows] == [True, False, True, False]
    assert {bar["name"] for bar in rows[0]["bars"]} >= {"conversions", "registers", "load-width", "store-width"}
    assert rows[0]["port"]["language"] == "gluon" and rows[0]["original"]["language"] == "triton"


def test_t1_fails_a_port_that_accepts_what_the_original_refuses(tmp_path):
    check = '    gl.static_assert(BLOCK >= 32, "BLOCK is too small")\n'
    write_project(tmp_path, port=edited(PORT, (check, "")))
    result = run(tmp_path, "T1")
    assert (result.verdict, [found.code for found in result.findings]) == (Verdict.FAIL, ["TP811"])
    assert "must be refused with 'BLOCK is too small'; the port compiles" in result.findings[0].message
    write_project(tmp_path, port=edited(PORT, ("BLOCK is too small", "no")))
    assert "the port is refused with another text" in run(tmp_path, "T1").findings[0].message


def test_t1_fails_a_port_that_does_not_compile_at_its_line(tmp_path):
    spoiled = edited(PORT, ("mask = offs < n", "mask = gl.expand_dims(offs, 7) < n"))
    write_project(tmp_path, port=spoiled)
    found = run(tmp_path, "T1").findings[0]
    assert (found.code, found.path) == ("TP809", str(tmp_path / "port.py"))
    assert found.line == 1 + spoiled.splitlines().index("    mask = gl.expand_dims(offs, 7) < n")
    assert "BLOCK=128) for sm_90 does not compile: " in found.message


def test_t1_holds_the_port_to_the_resource_bars(tmp_path):
    case = edited(
        CASE, ("constexprs=dict(BLOCK=128)),", "constexprs=dict(BLOCK=512), attrs={(0,): D, (1,): D, (2,): D}),")
    )
    case = edited(case, ("SIGNATURE = ", 'D = [["tt.divisibility", 16]]\nSIGNATURE = '))
    write_project(tmp_path, case=case)
    result = run(tmp_path, "T1")
    assert result.verdict is Verdict.FAIL
    assert {found.code for found in result.findings} == {"TP810"}
    assert any("load widths in bytes" in found.message for found in result.findings)
    assert result.findings[0].path == str(tmp_path / "scale.py")
    vector = edited(PORT, ("gl.BlockedLayout([1],", "gl.BlockedLayout([4],"))
    write_project(tmp_path, case=case, port=vector)
    assert run(tmp_path, "T1").verdict is Verdict.PASS


def test_t1_counts_specifications_alone(tmp_path, monkeypatch):
    """The bar of registers is one over all of them."""
    monkeypatch.setattr("tritonport.verify.compile.registers_hold", lambda pairs: False)
    write_project(tmp_path)
    result = run(tmp_path, "T1")
    assert result.verdict is Verdict.FAIL
    assert result.summary == "2 of 2 specifications for sm_90, of which too many take more registers"


def test_t1_honours_what_the_case_forbids(tmp_path):
    forbid = edited(CASE, ("constexprs=dict(BLOCK=128)),", 'constexprs=dict(BLOCK=128), ptx_forbid=("st.global",)),'))
    write_project(tmp_path, case=forbid)
    result = run(tmp_path, "T1")
    assert result.verdict is Verdict.FAIL
    assert "has 'st.global' in its PTX, which the case forbids" in result.findings[0].message


def test_t1_without_specifications_is_not_run(tmp_path):
    write_project(tmp_path, case=edited(CASE, ("COMPILE_SPECS", "OTHER_SPECS")))
    assert run(tmp_path, "T1").verdict is Verdict.NOT_RUN


def test_t1_of_a_specification_that_does_not_fit_is_an_error(tmp_path):
    write_project(tmp_path, case=edited(CASE, ('n="i32"', 'm="i32"')))
    result = run(tmp_path, "T1")
    assert (result.verdict, result.findings[0].code) == (Verdict.ERROR, "TP813")
    assert "scale_kernel has no parameter 'm'" in result.findings[0].message


T2 = ParityOptions(tiers=("T2",), requested=frozenset({"T2"}), timeout=3.0)


@pytest.mark.parametrize(
    ("old", "new", "verdict", "code", "words"),
    [
        ("    return out", "    import time\n\n    time.sleep(900)", Verdict.FAIL, "TP803", "not done after 3 s"),
        ("    return out", "    import os\n\n    os.abort()", Verdict.ERROR, "TP814", "ended with SIGABRT"),
    ],
)
def test_a_hang_fails_and_a_crash_is_an_error(tmp_path, old, new, verdict, code, words):
    port = edited(PORT, (old, new))
    kernel = write_project(tmp_path, port=port)
    result = check_file(str(kernel), ParityOptions(**{**T2.__dict__, "port": str(tmp_path / "port.py")}))
    assert result.verdict is verdict
    found = result.tiers[0].findings[0]
    assert (found.code, found.path) == (code, str(tmp_path / "port.py"))
    assert found.message.startswith("port: launch, seed 0: ") and words in found.message
    assert found.line == 1 + port.splitlines().index(new.splitlines()[-1])
    assert result.exit_code == {Verdict.FAIL: 1, Verdict.ERROR: 2}[verdict]


def test_a_case_that_hangs_is_not_held_against_the_port(tmp_path):
    slow = edited(CASE, ("    return scale(", "    import time\n\n    time.sleep(900)\n    return scale("))
    kernel = write_project(tmp_path, case=slow)
    result = check_file(str(kernel), T2)
    assert (result.verdict, result.exit_code) == (Verdict.NOT_COMPARABLE, 3)
    found = result.tiers[0].findings[0]
    assert found.message == "original: launch, seed 0: not done after 3 s"
    assert (found.path, found.line) == (
        str(tmp_path / "scale_case.py"),
        1 + slow.splitlines().index("    time.sleep(900)"),
    )


def test_a_file_that_goes_wrong_stops_no_other(tmp_path):
    good = write_project(tmp_path / "good")
    bad = write_project(tmp_path / "bad", original="x = (\n")
    lonely = write_project(tmp_path / "lonely", case=None)
    options = ParityOptions(tiers=("T0", "T2"), jobs=2)
    results = check_files([str(bad), str(good), str(lonely)], options)
    assert [result.verdict for result in results] == [Verdict.ERROR, Verdict.PASS, Verdict.NOT_COMPARABLE]
    assert [result.exit_code for result in results] == [2, 0, 3]
    assert results[0].tiers[1].verdict is Verdict.NOT_RUN
    assert results[2].tiers[0].verdict is Verdict.PASS
    assert results[2].tiers[1].findings[0].message.startswith("no case: ")


def test_what_takes_part_in_a_directory(tmp_path):
    kernel = write_project(tmp_path)
    assert takes_part(kernel)
    assert not takes_part(tmp_path / "scale_case.py")
    assert not takes_part(tmp_path / "port.py")
    alone = tmp_path / "alone_case.py"
    alone.write_text("def make_inputs(device, seed):\n    return {}\n\n\nlaunch = print\n")
    assert takes_part(alone)
    (tmp_path / "broken.py").write_text("make_inputs = launch = (\n")
    assert not takes_part(tmp_path / "broken.py")


def test_the_case_named_in_place_of_its_kernel_file(tmp_path):
    kernel = write_project(tmp_path)
    result = check_file(str(tmp_path / "scale_case.py"), ParityOptions(tiers=("T2",), seeds=(0,)))
    assert (result.path, result.case) == (str(kernel), str(tmp_path / "scale_case.py"))
    assert result.verdict is Verdict.PASS


def test_a_hang_in_a_converted_port_names_its_line_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    slow = "    if scale_kernel.is_gluon():\n        import time\n\n        time.sleep(900)\n    return out"
    kernel = write_project(tmp_path / "project", original=edited(ORIGINAL, ("    return out", slow)))
    result = check_file(str(kernel), T2)
    found = result.tiers[0].findings[0]
    assert (result.verdict, found.code, found.path) == (Verdict.FAIL, "TP803", str(kernel))
    assert found.message.startswith("port: launch, seed 0: not done after 3 s; line ")
    assert found.message.endswith(" of the port: time.sleep(900)")
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("tritonport-")] == []


def test_a_tier_that_cannot_run_writes_no_port_to_say_so(tmp_path, monkeypatch):
    def made(*given):
        raise AssertionError("a port was made")

    monkeypatch.setattr("tritonport.verify.parity.stage_changes_nothing", made)
    case = CASE.replace("COMPILE_SPECS", "OTHER_SPECS")
    kernel = write_project(tmp_path, case=case)
    result = run_tier(Request("T1", str(kernel), str(tmp_path / "scale_case.py"), stage="tma"))
    assert (result.verdict, result.summary) == (Verdict.NOT_RUN, "the case has no COMPILE_SPECS")
