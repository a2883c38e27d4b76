"""Counts, exit codes and the choice of what is reported."""

import pytest

from tritonport.report import Diagnostic, FileReport, KernelStatus, Report, make_selection, worst_exit_code
from tritonport.report.exit_codes import diagnostic_exit_code


def found(code: str, line: int = 1, kernel: str | None = None) -> Diagnostic:
    return Diagnostic(code, "message", "a.py", line, 1, kernel)


def kernels(*statuses: str) -> tuple[KernelStatus, ...]:
    return tuple(KernelStatus(f"k{number}", number + 1, status) for number, status in enumerate(statuses))


@pytest.mark.parametrize(
    ("codes", "worst"), [([], 0), ([0, 0], 0), ([0, 3], 3), ([3, 1], 1), ([1, 2, 3, 0], 2), ([3, 0, 3], 3)]
)
def test_the_worst_exit_code(codes: list[int], worst: int) -> None:
    assert worst_exit_code(codes) == worst


@pytest.mark.parametrize(
    ("code", "severity", "exit_code"),
    [
        ("TP001", "error", 2),
        ("TP003", "error", 1),
        ("TP010", "error", 2),
        ("TP901", "error", 2),
        ("TP101", "error", 1),
        ("TP104", "warning", 0),
        ("TP106", "info", 0),
        ("TP801", "error", 1),
        ("TP805", "warning", 3),
        ("TP806", "warning", 3),
    ],
)
def test_what_one_finding_makes_of_the_exit_code(code: str, severity: str, exit_code: int) -> None:
    assert diagnostic_exit_code(code, severity) == exit_code


def test_the_exit_code_of_a_file() -> None:
    assert FileReport("a.py", kernels("converted", "already", "skipped")).exit_code == 0
    assert FileReport("a.py", kernels("converted", "left")).exit_code == 1
    assert FileReport("a.py", kernels("converted"), (found("TP106"), found("TP104"))).exit_code == 0
    assert FileReport("a.py", (), (found("TP101"), found("TP002"))).exit_code == 2


def test_check_makes_a_change_a_finding() -> None:
    file = FileReport("a.py", kernels("converted"), changed=True)
    assert Report([file]).exit_code == 0
    assert Report([file], check=True).exit_code == 1
    assert Report([FileReport("a.py", kernels("already"))], check=True).exit_code == 0


def test_counts_and_summary() -> None:
    report = Report()
    assert (report.exit_code, report.summary()) == (0, "no kernels in 0 files")
    report.add(FileReport("a.py", kernels("converted", "left", "already"), (found("TP101"), found("TP106")), True))
    report.add(FileReport("b.py", kernels("converted", "skipped"), (found("TP101"),), True))
    report.add(FileReport("c.py", (), (found("TP001"),)))
    assert [report.kernels(status) for status in ("converted", "left", "already", "skipped")] == [2, 1, 1, 1]
    assert report.changed_files == 2
    assert report.severities() == {"error": 3, "info": 1}
    assert list(report.statistics()) == [
        (2, "TP101", "unsupported-call"),
        (1, "TP001", "syntax-error"),
        (1, "TP106", "loop-hint-kept"),
    ]
    assert report.exit_code == 2
    assert report.summary() == (
        "5 kernels in 3 files: 2 converted, 1 left as it was, 1 already Gluon, 1 not asked for, 1 file with an error"
    )
    assert [one.code for one in report.only_errors().diagnostics] == ["TP101", "TP101", "TP001"]


def test_a_file_s_findings_are_in_its_order() -> None:
    report = Report([FileReport("a.py", (), (found("TP106", 9), found("TP101", 2), found("TP103", 2)))])
    assert [(one.line, one.code) for one in report.diagnostics] == [(2, "TP101"), (2, "TP103"), (9, "TP106")]


@pytest.mark.parametrize(
    ("select", "ignore", "shown", "hidden"),
    [
        ((), (), ["TP101", "TP106", "TP801"], []),
        ((), ("TP1",), ["TP201"], ["TP101", "TP106"]),
        ((), ("loop-hint-kept",), ["TP101"], ["TP106"]),
        (("TP1",), (), ["TP101"], ["TP201", "TP801"]),
        (("TP106",), ("TP1",), ["TP106"], ["TP101", "TP201"]),
        (("TP1",), ("TP106",), ["TP101"], ["TP106"]),
        (("TP1",), ("TP1",), [], ["TP101"]),
        ((), ("TP",), ["TP001", "TP901"], ["TP101", "TP801"]),
        (("TP106",), (), ["TP002", "TP106"], ["TP101"]),
    ],
)
def test_selection(select: tuple[str, ...], ignore: tuple[str, ...], shown: list[str], hidden: list[str]) -> None:
    selection = make_selection(select, ignore)
    assert [code for code in shown if not selection.covers(found(code))] == []
    assert [code for code in hidden if selection.covers(found(code))] == []


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("TP999", "no diagnostic 'TP999'"),
        ("unsuported-call", "did you mean 'unsupported-call'?"),
        ("", "no diagnostic ''"),
    ],
)
def test_selecting_what_does_not_exist(item: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        make_selection(ignore=(item,))
