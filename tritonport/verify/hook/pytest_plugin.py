"""Writes down how each test ends and which kernels it launched; every process of pytest loads it, xdist's too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tritonport.verify.hook import startup
from tritonport.verify.hook.startup import launched

KIND = "tests"


def _write(**record: Any) -> None:
    if startup.active is not None:
        startup.active.record(KIND, record)


def pytest_configure(config: Any) -> None:
    """The command is pytest, whatever it is called by."""
    _write(event="session")


def pytest_collectreport(report: Any) -> None:
    """A module that cannot be imported is a test that fails."""
    if report.failed:
        _write(event="end", test=report.nodeid, when="collect", outcome="failed", **_crash(report), launches=[])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> None:
    """A test that starts and never ends took the process with it. Under xdist only the workers come here."""
    _write(event="start", test=item.nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    """One record for the set-up, the call and the tear-down of a test."""
    result = yield
    report = result.get_result()  # type: ignore[attr-defined]
    seen = getattr(item, "_tritonport_launches", 0)
    first = seen if report.when != "setup" else getattr(item.session, "_tritonport_launches", 0)
    item._tritonport_launches = item.session._tritonport_launches = len(startup.launches)
    outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
    told = _crash(report) if report.failed else {}
    launches = launched(first) if startup.active is not None else []
    _write(event="end", test=report.nodeid, when=report.when, outcome=outcome, **told, launches=launches)


def _crash(report: Any) -> dict[str, Any]:
    """What a failed phase says, and where: the path as pytest has it, the line from 1."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        lines = [line.strip() for line in str(report.longrepr).splitlines() if line.strip()]
        return {"message": lines[-1] if lines else "fails", "path": report.nodeid.partition("::")[0], "line": 1}
    return {"message": crash.message, "path": crash.path, "line": crash.lineno}
