"""Children that return, raise, crash, hang and write."""

import os
import signal
import sys
import time
from pathlib import Path

from tritonport.verify.compile.forked import run_forked


def test_values_come_back_in_order() -> None:
    outcomes = run_forked([lambda i=i: i * i for i in range(8)], timeout=30, jobs=3)  # type: ignore[misc]
    assert [outcome.value for outcome in outcomes] == [i * i for i in range(8)]
    assert {outcome.ended for outcome in outcomes} == {"returned"}


def test_a_large_value_comes_back() -> None:
    (outcome,) = run_forked([lambda: b"x" * 5_000_000], timeout=30)
    assert outcome.value == b"x" * 5_000_000


def test_output_of_python_and_of_native_code_is_captured() -> None:
    def write() -> int:
        print("from python")
        print("to stderr", file=sys.stderr)
        os.write(2, b"from native code\n")
        return 1

    (outcome,) = run_forked([write], timeout=30)
    assert outcome.output == "from python\nto stderr\nfrom native code\n"


def test_an_exception_is_an_outcome() -> None:
    def fail() -> None:
        raise ValueError("no such layout")

    (outcome,) = run_forked([fail], timeout=30)
    assert outcome.ended == "raised"
    assert outcome.output.endswith("ValueError: no such layout\n")


def test_crashes_are_outcomes() -> None:
    outcomes = run_forked([os.abort, lambda: os._exit(3), lambda: 5], timeout=30, jobs=2)
    assert [(one.ended, one.status) for one in outcomes] == [
        ("crash", "SIGABRT"),
        ("crash", "exit status 3"),
        ("returned", ""),
    ]


def is_running(pid: int) -> bool:
    """Whether a process runs: neither gone nor a zombie that nobody has waited for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_a_hang_ends_with_what_it_started() -> None:
    def hang() -> None:
        child = os.fork()
        if child == 0:
            time.sleep(600)
        print(child, flush=True)
        signal.sigwait([signal.SIGUSR1])

    start = time.monotonic()
    hung, fine = run_forked([hang, lambda: 7], timeout=1.0, jobs=2)
    assert time.monotonic() - start < 10
    assert (hung.ended, fine.value) == ("timeout", 7)
    deadline = time.monotonic() + 5
    while is_running(int(hung.output)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(int(hung.output))


def test_children_of_children() -> None:
    def outer() -> list[str]:
        return [one.ended for one in run_forked([os.abort, lambda: 1], timeout=30)]

    (outcome,) = run_forked([outer], timeout=30)
    assert outcome.value == ["crash", "returned"]
