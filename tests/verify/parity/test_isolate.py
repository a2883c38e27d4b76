"""Calls in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tritonport.verify.isolate import report_phase, run_isolated

HERE = str(Path(__file__))


def add(a, b):
    print("adding", a, b)
    return a + b


def fail():
    raise KeyError("k")


def leave():
    sys.exit(3)


def hang():
    report_phase("half way")
    print("begun", flush=True)
    time.sleep(600)


def crash():
    report_phase("about to crash")
    os.kill(os.getpid(), signal.SIGSEGV)


def vanish():
    os._exit(7)


def breed(file):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(file).write_text(str(child.pid))
    time.sleep(600)


def look(name):
    return os.environ.get(name), os.getcwd()


def test_the_result_comes_back_with_what_was_printed():
    outcome = run_isolated(add, 2, 3, timeout=60)
    assert (outcome.returned, outcome.value, outcome.output) == (True, 5, "adding 2 3\n")
    assert outcome.signal is None and outcome.error is None


def test_an_exception_comes_back_as_text():
    for function, text in ((fail, "KeyError: 'k'"), (leave, "SystemExit: 3")):
        outcome = run_isolated(function, timeout=60)
        assert not outcome.returned
        assert outcome.error is not None and outcome.error.strip().endswith(text)


def test_a_hang_ends_at_its_limit_and_says_where_it_was():
    seen: list[str] = []
    outcome = run_isolated(hang, timeout=1, on_phase=seen.append)
    assert outcome.timed_out and not outcome.returned
    assert seen == ["half way"] and outcome.phase == "half way"
    assert outcome.output == "begun\n"
    line = 1 + Path(HERE).read_text().splitlines().index('    print("begun", flush=True)')
    assert (HERE, line + 1) in outcome.frames
    assert 1 <= outcome.seconds < 30


def test_a_signal_is_named():
    outcome = run_isolated(crash, timeout=60)
    assert (outcome.signal, outcome.phase, outcome.timed_out) == ("SIGSEGV", "about to crash", False)
    assert outcome.frames[0][0] == HERE


def test_a_process_that_is_gone_is_no_result():
    outcome = run_isolated(vanish, timeout=60)
    assert (outcome.returned, outcome.signal) == (False, "exit status 7")


def test_what_the_process_started_ends_with_it(tmp_path):
    file = tmp_path / "pid"
    run_isolated(breed, str(file), timeout=2)
    pid = int(file.read_text())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            # A zombie that nobody waits for is not running.
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
        time.sleep(0.1)
    pytest.fail("the process runs on")


def test_environment_and_folder_are_the_callers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRITONPORT_TEST", "here")
    assert run_isolated(look, "TRITONPORT_TEST", timeout=60).value == ("here", str(tmp_path))
    assert run_isolated(look, "TRITONPORT_TEST", timeout=60, environment={}).value[0] is None


def test_an_interrupt_leaves_no_process_behind(tmp_path):
    file = tmp_path / "pid"

    def interrupt(phase):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_isolated(announce, str(file), timeout=60, on_phase=interrupt)
    assert not Path(f"/proc/{int(file.read_text())}").exists()


def announce(file):
    Path(file).write_text(str(os.getpid()))
    report_phase("here")
    time.sleep(600)
