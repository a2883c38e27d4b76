"""T4 as a whole, with programs in place of the sanitizers and the emulator in place of the GPU."""

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.verify.parity.sources import CASE, ORIGINAL, PORT, edited, write_project
from tritonport.verify.isolate import run_isolated
from tritonport.verify.parity import run_request
from tritonport.verify.processes import Ended, run_to_end
from tritonport.verify.request import Request
from tritonport.verify.sanitize import run_sanitizers
from tritonport.verify.sanitize.judge import Texts, Watched, judge
from tritonport.verify.sanitize.tools import CONSAN, FPSAN, MEMCHECK, Sanitizer, find_program
from tritonport.verify.sanitize.worker import Job, main, read_records
from tritonport.verify.verdict import FileResult, TierResult, Verdict

REFUSAL = "raise triton.OutOfResources(9, 8, 'shared memory')"
STORE = "gl.store(out_ptr + offs, x * factor, mask=mask)"
NOTHING = Sanitizer("nothing", {})
"""Watches nothing: what remains is the process."""


def work(folder: str) -> None:
    """The worker in this process."""
    sys.argv = ["worker", folder]
    main()


def forked(command: Sequence[str], environment: Mapping[str, str], log: Path, timeout: float) -> Ended:
    """What `run_to_end` does, with the worker in a process that torch and Triton need not be imported in again.

    A program that watches has an empty one to watch, before: it says the same, and the worker is told the rest.
    """
    said = ""
    if command[0] != sys.executable:
        said = run_to_end(["true" if one == sys.executable else one for one in command], environment, log, 60).output
    outcome = run_isolated(work, command[-1], timeout=timeout, environment=environment)
    if outcome.timed_out or outcome.signal is not None:
        number = None if outcome.timed_out else -signal.Signals[str(outcome.signal)]
        return Ended(number, said + outcome.output, outcome.seconds)
    assert outcome.returned, outcome
    return Ended(0, said + outcome.output, outcome.seconds)


@pytest.fixture
def check_whole(tmp_path, monkeypatch):
    """Runs T4 on the project of the test, in the emulator."""
    monkeypatch.chdir(tmp_path)

    def call(*sanitizers: Sanitizer, timeout: float = 120.0, port: str | None = "port.py", **texts: str) -> TierResult:
        write_project(tmp_path, **texts)
        request = Request("T4", "scale.py", "scale_case.py", port, timeout=timeout)
        return run_sanitizers(request, sanitizers=sanitizers, device="cpu")

    return call


@pytest.fixture
def check(check_whole, monkeypatch):
    """The same for what the worker finds out: programs are started as ever, the worker alone is forked."""
    monkeypatch.setattr("tritonport.verify.sanitize.tier.run_to_end", forked)
    return check_whole


def program(folder: Path, body: str) -> Sanitizer:
    """A sanitizer that is a program of these lines; `"$@"` is what it watches."""
    file = folder / "fake-sanitizer"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return replace(MEMCHECK, program=(str(file),))


def only(result: TierResult) -> tuple[Verdict, str]:
    """The verdict and the summary of the one sanitizer."""
    (one,) = result.data["sanitizers"]
    return Verdict(one["verdict"]), one["summary"]


def test_a_right_port_is_clean(check_whole):
    result = check_whole(NOTHING)
    assert (result.tier, result.verdict, result.findings) == ("T4", Verdict.PASS, ())
    assert only(result) == (Verdict.PASS, "clean, 3 launches, 3 of them watched")


def test_what_a_program_reports_is_at_the_line_of_the_port(check_whole, tmp_path):
    line = 1 + next(n for n, text in enumerate(PORT.splitlines()) if STORE in text)
    tool = program(
        tmp_path,
        'case "$4" in */original) exit 0;; *)\n'
        'echo "========= Invalid __global__ write of size 4 bytes"\n'
        f'echo "=========     at scale_kernel+0x1d0 in {tmp_path}/port.py:{line}"\n'
        'echo "=========     by thread (44,0,0) in block (2,0,0)";;\nesac\nexec "$@"',
    )
    result = check_whole(tool)
    assert result.verdict is Verdict.FAIL
    (found,) = result.findings
    assert (found.code, found.path, found.line, found.kernel) == ("TP817", "port.py", line, "scale_kernel")
    said = "memcheck: Invalid __global__ write of size 4 bytes (program 2, 0, 0, thread 44, 0, 0)"
    assert found.message == said


def test_a_line_of_a_converted_port_is_quoted_at_the_kernel_of_the_original(check, tmp_path):
    tool = program(
        tmp_path,
        'case "$4" in */original) exit 0;; esac\n'
        'port=$(sed -n \'s/.*"port": "\\([^"]*\\)".*/\\1/p\' "$4/job.json")\n'
        'line=$(grep -n "gl.store(" "$port" | cut -d: -f1)\n'
        'echo "========= Invalid __global__ write of size 4 bytes"\n'
        'echo "=========     at scale_kernel+0x1d0 in $port:$line"\nexec "$@"',
    )
    (found,) = check(tool, port=None).findings
    kernel = 1 + next(n for n, text in enumerate(ORIGINAL.splitlines()) if "def scale_kernel" in text)
    assert (found.path, found.line, found.kernel) == ("scale.py", kernel, "scale_kernel")
    assert " of the port: gl.store(out_ptr + offs, x * factor, mask=mask)" in found.message


def test_what_the_original_does_too_is_no_fault_of_the_port(check, tmp_path):
    tool = program(tmp_path, 'echo "========= Invalid __global__ read of size 4 bytes"\nexec "$@"')
    result = check(tool)
    assert only(result) == (Verdict.NOT_COMPARABLE, "the original does so too: 1 finding")


def test_asserts_of_a_kernel_fail_it(check_whole):
    said = "port.py:15: unknown: block: [0,0,0], thread: [0,0,0] Assertion `Buffer being accessed` failed."
    result = check_whole(CONSAN, case=case_that_runs(f"print({said!r}, flush=True)\n    os.abort()"))
    assert result.verdict is Verdict.FAIL
    (found,) = result.findings
    assert (found.code, found.path, found.line) == ("TP817", "port.py", 15)


def case_that_runs(line: str) -> str:
    """The case with a line before the launch."""
    imports = ("import torch\n", "import os\nimport time\n\nimport torch\n")
    return edited(CASE, imports, ("    return scale(x, factor)", f"    {line}\n    return scale(x, factor)"))


@pytest.mark.parametrize(
    ("text", "triton", "verdict"),
    [
        ("Deadlock detected: all active threads are waiting on mbarriers", "3.6.0", Verdict.NOT_COMPARABLE),
        ("Deadlock detected while waiting on an mbarrier", "3.9.0", Verdict.FAIL),
        ("Buffer being accessed has outstanding reads", "3.6.0", Verdict.FAIL),
        ("internal ConSan error: active memdesc resolved to no buffer state", "3.9.0", Verdict.NOT_COMPARABLE),
    ],
)
def test_which_reports_of_consan_are_believed(text, triton, verdict):
    """The process is that of the test above; here it is what it says that counts."""
    said = f"port.py:15: unknown: block: [0,0,0], thread: [0,0,0] Assertion `{text}` failed."
    records = ({"event": "mode", "mode": "consan"},)
    watched = Watched(Ended(-signal.SIGABRT, said, 1.0), records)
    report = judge(CONSAN, watched, Texts("scale.py", "", "port.py", PORT), triton, 60.0)
    assert report.verdict is verdict
    assert text in report.findings[0].message


def test_a_process_that_dies_is_an_error_with_its_last_words(check_whole):
    result = check_whole(NOTHING, case=case_that_runs('print("last words", flush=True)\n    os.abort()'))
    assert only(result) == (Verdict.ERROR, "the process ended with SIGABRT")
    assert result.findings[0].code == "TP814"
    assert any(note.endswith("last words") for note in result.notes)


def test_a_process_that_hangs_is_stopped_and_shows_nothing(check):
    result = check(NOTHING, case=case_that_runs("time.sleep(600)"), timeout=9.0)
    verdict, summary = only(result)
    assert verdict is Verdict.NOT_COMPARABLE
    assert summary.startswith("port, seed 0: not done after 4 s")
    assert result.findings[0].code == "TP803"
    assert result.seconds < 60


def test_a_program_that_hangs_is_killed_with_what_it_started(tmp_path):
    log, late = tmp_path / "log", tmp_path / "late"
    line = f"echo begun; (sleep 1; echo > {late}) & sleep 600"
    ended = run_to_end(["sh", "-c", line], os.environ, log, timeout=0.3)
    assert (ended.code, ended.timed_out, ended.output) == (None, True, "begun\n")
    assert ended.seconds < 60
    time.sleep(1)
    assert not late.exists()


@pytest.mark.parametrize(
    ("port", "case", "verdict", "code"),
    [
        (edited(PORT, ("    return out", f"    {REFUSAL}")), CASE, Verdict.NOT_COMPARABLE, "TP805"),
        (edited(PORT, ("x * factor", "x * no_such_name")), CASE, Verdict.FAIL, "TP804"),
        (edited(PORT, ("    return out", "    raise RuntimeError('lost')")), CASE, Verdict.FAIL, "TP804"),
        (
            PORT,
            edited(CASE, ("    return dict(x", "    raise KeyError('lost')\n    return dict(x")),
            Verdict.ERROR,
            "TP804",
        ),
    ],
)
def test_what_raises(check, port, case, verdict, code):
    Path("given.py").write_text(port)
    result = check(NOTHING, port="given.py", case=case)
    assert result.verdict is verdict, result
    assert result.findings[0].code == code


def test_a_run_that_triton_refuses_says_nothing_of_the_others(check):
    Path("given.py").write_text(
        edited(PORT, ("    return out", f"    if x.numel() > 350:\n        {REFUSAL}\n    return out"))
    )
    verdict, summary = only(check(NOTHING, port="given.py", case=edited(CASE, ("randn(300", "randn(300 + 50 * seed"))))
    assert verdict is Verdict.PASS
    refused = "OutOfResources: out of resource: shared memory, Required: 9, Hardware limit: 8"
    assert summary.startswith(f"clean, 2 launches, 2 of them watched; Triton refuses 1 more under nothing: {refused}")


def test_runs_that_there_is_no_time_for_are_told(tmp_path):
    write_project(tmp_path)
    kernel, case, port = (str(tmp_path / name) for name in ("scale.py", "scale_case.py", "port.py"))
    Job(kernel, case, port, ("port",), device="cpu", seconds=0.0).write(tmp_path)
    assert run_isolated(work, str(tmp_path), timeout=240).returned
    watched = Watched(Ended(0, "", 1.0), tuple(read_records(tmp_path)))
    report = judge(NOTHING, watched, Texts("scale.py", ORIGINAL, "port.py", PORT), "3.9.0", 60.0)
    assert report.verdict is Verdict.PASS
    assert report.summary == "clean, 1 launch, 1 of them watched; no time for 2 more"


def test_both_sides_must_agree_in_every_bit_where_sanitizers_compare(check):
    compares = Sanitizer("FpSan", {}, compares=True)
    assert only(check(compares)) == (Verdict.PASS, "3 results equal bit for bit, 3 launches")
    Path("given.py").write_text(edited(PORT, ("x * factor", "x / (1.0 / factor)")))
    result = check(compares, port="given.py")
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].code == "TP817"
    assert "FpSan: result differs at [" in result.findings[0].message


MOVES = ("    return out", "    RUNS.append(1)\n    return out, x + len(RUNS)")
"""A launcher whose second result, like a sum by atomics, is another one in every run of a process."""


def moving(text: str) -> str:
    return edited(text, MOVES, ("import triton\n", "import triton\n\nRUNS = []\n"))


COMPARES = Sanitizer("FpSan", {}, compares=True)


def test_what_differs_from_run_to_run_of_the_original_is_not_comparable(check):
    port = edited(PORT, ("    return out", "    return out, x - 1.0"))
    Path("given.py").write_text(port)
    case = edited(CASE, ("return x * factor", "return x * factor, x"))
    result = check(COMPARES, original=moving(ORIGINAL), port="given.py", case=case)
    verdict, summary = only(result)
    assert (verdict, {found.code for found in result.findings}) == (Verdict.NOT_COMPARABLE, {"TP805"})
    assert summary == "2 runs of the original differ from one another in what differs (3 results)"
    assert "result[1] differs" in result.findings[0].message


def test_a_wrong_result_beside_one_that_moves_fails(check):
    port = edited(moving(PORT), ("x * factor", "x / (1.0 / factor)"))
    Path("given.py").write_text(port)
    result = check(COMPARES, original=moving(ORIGINAL), port="given.py")
    said = "other bits in 3 results: the port computes something else, in which 16 runs of the original agree"
    assert only(result) == (Verdict.FAIL, said)
    assert all("result[0] differs" in found.message for found in result.findings)


ADDED = ("store(out_ptr + offs, x * factor, mask=mask)", "atomic_add(out_ptr + offs, x * factor, mask=mask)")


def with_atomics(text: str, second: str) -> str:
    """The sum by atomics into zeros, cast by torch; beside it what a second kernel stores."""
    language = "gl" if "gluon" in text else "tl"
    kernel = text[text.index("@gluon.jit" if language == "gl" else "@triton.jit") : text.index("def scale(")]
    other = edited(kernel, ("def scale_kernel", "def other_kernel"), ("x * factor", second))
    host = text[text.index("def scale(") :].replace("empty_like", "zeros_like")
    launch = "other_kernel[(triton.cdiv(x.numel(), 128),)](x, more, x.numel(), factor, BLOCK=128)"
    host = edited(host, ("return out", f"more = torch.empty_like(x)\n    {launch}\n    return out.half(), more"))
    return edited(text[: text.index("def scale(")], ADDED) + other + host


def test_what_atomics_of_floats_add_up_is_not_comparable_by_cause(check):
    Path("given.py").write_text(edited(with_atomics(PORT, "x + factor"), ("x * factor", "x * factor * 1.01")))
    case = edited(CASE, ("return x * factor", "return (x * factor).half(), x + factor"))
    result = check(COMPARES, original=with_atomics(ORIGINAL, "x + factor"), port="given.py", case=case)
    assert only(result)[0] is Verdict.NOT_COMPARABLE
    assert "results are added up by atomics of floats, in whatever order programs come" in only(result)[1]
    assert all("result[0] differs" in found.message for found in result.findings)


def test_a_wrong_result_beside_a_sum_by_atomics_fails(check):
    Path("given.py").write_text(with_atomics(PORT, "x + factor * 2.0"))
    case = edited(CASE, ("return x * factor", "return (x * factor).half(), x + factor"))
    result = check(COMPARES, original=with_atomics(ORIGINAL, "x + factor"), port="given.py", case=case)
    assert only(result)[0] is Verdict.FAIL
    assert all("result[1] differs" in found.message for found in result.findings)


def test_atomics_of_the_port_alone_excuse_nothing(check):
    Path("given.py").write_text(edited(PORT, ADDED, ("empty_like", "ones_like")))
    assert check(COMPARES, port="given.py").verdict is Verdict.FAIL


def test_a_port_that_moves_alone_fails(check):
    Path("given.py").write_text(moving(PORT))
    original = edited(ORIGINAL, ("    return out", "    return out, x + 2"))
    result = check(COMPARES, original=original, port="given.py")
    assert result.verdict is Verdict.FAIL
    assert "result[1] differs" in result.findings[0].message


def test_a_port_whose_nan_has_other_bits_differs(check):
    """What FpSan makes of a number may be the bits of a NaN."""
    compares = Sanitizer("FpSan", {}, compares=True)
    nan = ("    return out", "    out.view(torch.int32).fill_({})\n    return out")
    original = edited(ORIGINAL, (nan[0], nan[1].format("0x7FC00001")))
    Path("given.py").write_text(edited(PORT, (nan[0], nan[1].format("0x7FC00002"))))
    assert check(compares, original=original, port="given.py").verdict is Verdict.FAIL


def test_what_is_not_here_is_not_run_and_no_pass(check, monkeypatch):
    monkeypatch.setattr("tritonport.verify.sanitize.tier._triton_version", lambda: "3.6.0")
    absent = replace(MEMCHECK, program=("no-such-sanitizer",))
    result = check(FPSAN, absent)
    assert result.verdict is Verdict.NOT_RUN
    assert [one["summary"] for one in result.data["sanitizers"]] == [
        "needs Triton 3.8 or newer, 3.6.0 is installed",
        "no-such-sanitizer is not installed",
    ]
    assert FileResult("scale.py", None, (result,), frozenset({"T4"})).exit_code == 3
    mixed = check(NOTHING, absent)
    assert mixed.verdict is Verdict.PASS
    assert mixed.summary.endswith("memcheck not run: no-such-sanitizer is not installed")


def test_a_triton_that_does_not_take_the_mode_is_not_run():
    records = ({"event": "mode", "mode": ""}, {"event": "done"})
    report = judge(CONSAN, Watched(Ended(0, "", 1.0), records), Texts("a.py", "", None, ""), "3.9.0", 60.0)
    assert report.verdict is Verdict.NOT_RUN


def test_kernels_without_anything_to_watch_are_not_run_under_consan_and_are_under_memcheck():
    launch = {"kernel": "k", "gluon": True, "watched": False}
    records = ({"event": "run", "side": "port", "variation": "seed 0", "launches": [launch]}, {"event": "done"})
    watched, texts = Watched(Ended(0, "", 1.0), records), Texts("a.py", "", None, "")
    assert judge(CONSAN, watched, texts, "3.9.0", 60.0).verdict is Verdict.NOT_RUN
    assert judge(MEMCHECK, watched, texts, "3.9.0", 60.0).verdict is Verdict.PASS
    triton = ({**records[0], "launches": [{**launch, "gluon": False}]}, records[1])
    assert judge(MEMCHECK, replace(watched, records=triton), texts, "3.9.0", 60.0).verdict is Verdict.NOT_COMPARABLE


def test_programs_of_a_toolkit_are_found_beside_the_path(tmp_path, monkeypatch):
    tool = tmp_path / "bin" / "compute-sanitizer"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert find_program("compute-sanitizer") == str(tool)
    assert MEMCHECK.missing("3.6.0") is None
    assert find_program("no-such-program") is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_t4_is_not_run(tmp_path):
    write_project(tmp_path)
    result = run_request(Request("T4", str(tmp_path / "scale.py"), str(tmp_path / "scale_case.py")))
    assert (result.verdict, result.summary) == (Verdict.NOT_RUN, "no GPU")
