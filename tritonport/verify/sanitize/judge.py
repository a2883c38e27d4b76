"""The verdict on one sanitizer's run: from how the process ended, what it wrote down and what the sanitizer printed."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tritonport.report.diagnostic import Diagnostic
from tritonport.verify import codes
from tritonport.verify.compile.kernels import find_kernels
from tritonport.verify.processes import Ended, ended_with
from tritonport.verify.sanitize.findings import Found, device_asserts, memcheck_reports
from tritonport.verify.sanitize.tools import MODE, Sanitizer, version_of
from tritonport.verify.verdict import Verdict

_MAX_FINDINGS = 5
_TAIL = 5
_OWN_FAILURE = "internal ConSan error"


@dataclass(frozen=True)
class Watched:
    """A process that a sanitizer watched.

    Attributes:
        ended: how it ended; None where it could not be started.
        records: what it wrote down.
        problem: why it could not be started.
    """

    ended: Ended | None
    records: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""

    def events(self, kind: str) -> list[Mapping[str, Any]]:
        """The records of a kind."""
        return [one for one in self.records if one["event"] == kind]


@dataclass(frozen=True)
class Texts:
    """The original and the port, to find the places that a sanitizer names.

    Attributes:
        kernel_file, original: the original's file and text.
        port_file: the file that the user gave as the port; None where it was converted.
        port: its text.
    """

    kernel_file: str
    original: str
    port_file: str | None
    port: str


@dataclass(frozen=True)
class Report:
    """What one sanitizer came to.

    Attributes:
        name: the sanitizer.
        verdict: the outcome; NOT-RUN is no pass.
        summary: how much was watched, or why nothing was.
        findings: what is wrong.
        notes: further lines for the reader.
        reports: what the sanitizer itself reported, without what raised or hung.
    """

    name: str
    verdict: Verdict
    summary: str
    findings: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    reports: tuple[Found, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """As it stands in the report of the tier."""
        return {"name": self.name, "verdict": self.verdict.value, "summary": self.summary}

    def beside(self, original: Report) -> Report:
        """The same where the original was watched too: what it does as well is no fault of the port."""
        headlines = {one.text.partition(";")[0] for one in original.reports}
        if not self.reports or any(one.text.partition(";")[0] not in headlines for one in self.reports):
            return self
        findings = tuple(replace(one, code=codes.NOT_COMPARABLE) for one in self.findings)
        summary = f"the original does so too: {original.summary}"
        return replace(self, verdict=Verdict.NOT_COMPARABLE, summary=summary, findings=findings)


def judge(sanitizer: Sanitizer, watched: Watched, texts: Texts, triton: str, limit: float) -> Report:
    """The verdict on one run.

    Args:
        triton: the installed version of Triton.
        limit: seconds that the process had.
    """
    if watched.ended is None:
        return Report(sanitizer.name, Verdict.NOT_RUN, watched.problem)
    wanted = sanitizer.environment.get(MODE, "")
    if any(one["mode"] != wanted for one in watched.events("mode")):
        return Report(sanitizer.name, Verdict.NOT_RUN, f"this Triton does not take {MODE}={wanted}")
    output = watched.ended.output
    reports = memcheck_reports(output) if sanitizer.program else device_asserts(output)
    if reports:
        return _reported(sanitizer, watched, reports, texts, triton)
    raised = watched.events("raised")
    if raised:
        return _raised(sanitizer, raised[0], texts)
    if watched.ended.timed_out:
        return _timed_out(sanitizer, watched, texts, limit)
    if not watched.events("done"):
        how = ended_with(watched.ended.code)
        tail = tuple(output.strip().splitlines()[-_TAIL:])
        finding = Diagnostic(codes.CRASHED, f"{sanitizer.name}: the process ended with {how}", texts.kernel_file, 1, 1)
        return Report(sanitizer.name, Verdict.ERROR, f"the process ended with {how}", (finding,), tail)
    return _finished(sanitizer, watched, texts)


def _reported(sanitizer: Sanitizer, watched: Watched, reports: Sequence[Found], texts: Texts, triton: str) -> Report:
    findings = tuple(_diagnostic(sanitizer, one, watched, texts) for one in reports[:_MAX_FINDINGS])
    summary = "1 finding" if len(reports) == 1 else f"{len(reports)} findings"
    reason = _no_evidence(sanitizer, reports, triton)
    if reason is not None:
        unknown = tuple(replace(one, code=codes.NOT_COMPARABLE) for one in findings)
        return Report(sanitizer.name, Verdict.NOT_COMPARABLE, reason, unknown)
    return Report(sanitizer.name, Verdict.FAIL, summary, findings, (), tuple(reports))


def _no_evidence(sanitizer: Sanitizer, reports: Sequence[Found], triton: str) -> str | None:
    """Why the reports say nothing about the port; None where they do."""
    if any(_OWN_FAILURE in one.text for one in reports):
        return f"{sanitizer.name} failed itself: {reports[0].text}"
    since = sanitizer.deadlocks_since
    if since is None or version_of(triton) >= since or not all("eadlock" in one.text for one in reports):
        return None
    return f"{reports[0].text}, which {sanitizer.name} says of right kernels too before Triton {since[0]}.{since[1]}"


def _raised(sanitizer: Sanitizer, raised: Mapping[str, Any], texts: Texts) -> Report:
    """The verdict where the case, a side of it or Triton raised."""
    what = f"{raised['side']}: {raised['step']} raises: {raised['message']}"
    path, line, words = _place(Found("", raised["path"], raised["line"]), texts)
    kernel = raised["kernel"] or None
    if raised["event"] == "refused":
        # Instrumentation takes memory and registers, and has operations that it does not know.
        what = f"{raised['side']}: Triton refuses it under {sanitizer.name}: {raised['message']}"
        finding = Diagnostic(codes.NOT_COMPARABLE, what + words, path, line, 1, kernel)
        return Report(sanitizer.name, Verdict.NOT_COMPARABLE, what, (finding,))
    finding = Diagnostic(codes.RAISED, f"{sanitizer.name}: {what}{words}", path, line, 1, kernel)
    port = raised["side"] == "port" and raised["step"] in ("launch", "import")
    return Report(sanitizer.name, Verdict.FAIL if port else Verdict.ERROR, what, (finding,))


def _timed_out(sanitizer: Sanitizer, watched: Watched, texts: Texts, limit: float) -> Report:
    started = watched.events("start")
    where = f"{started[-1]['side']}, {started[-1]['variation']}" if started else "the start"
    what = f"{where}: not done after {limit:.0f} s: it hangs, or is slow because it is watched"
    finding = Diagnostic(codes.TIMEOUT, f"{sanitizer.name}: {what}", texts.port_file or texts.kernel_file, 1, 1)
    return Report(sanitizer.name, Verdict.NOT_COMPARABLE, what, (finding,))


def _finished(sanitizer: Sanitizer, watched: Watched, texts: Texts) -> Report:
    """The verdict on a process that came to its end, and of which the sanitizer had nothing to say."""
    runs = [one for one in watched.events("run") if one["side"] == "port"]
    refused = watched.events("refused")
    if refused and not runs:
        return _raised(sanitizer, refused[0], texts)
    gluon = [launch for run in runs for launch in run["launches"] if launch["gluon"]]
    more = _not_run(sanitizer, watched)
    if runs and not gluon:
        return Report(sanitizer.name, Verdict.NOT_COMPARABLE, "the case launches no Gluon kernel of the port")
    count = f"{len(gluon)} launch" if len(gluon) == 1 else f"{len(gluon)} launches"
    if not sanitizer.compares:
        own = [launch for launch in gluon if launch["watched"] or sanitizer.program]
        if runs and not own:
            return Report(sanitizer.name, Verdict.NOT_RUN, f"nothing to watch in {count}: no shared memory, no barrier")
        return Report(sanitizer.name, Verdict.PASS, f"clean, {count}, {len(own)} of them watched{more}")
    compared = watched.events("compared")
    different = [one for one in compared if one["differences"]]
    if different:
        return _different(sanitizer, different, texts, gluon[0]["kernel"])
    total = sum(one["compared"] for one in compared)
    if not total:
        return Report(sanitizer.name, Verdict.NOT_COMPARABLE, "the case returns nothing to compare")
    return Report(sanitizer.name, Verdict.PASS, f"{total} results equal bit for bit, {count}{more}")


def _different(sanitizer: Sanitizer, compared: Sequence[Mapping[str, Any]], texts: Texts, kernel: str) -> Report:
    """The verdict where original and port differ: none on results that an addition by atomics has reached, nor on those
    in which the original differs from itself.
    """
    line = _line_of_kernel(texts, kernel)

    def findings(code: str, why: str) -> tuple[Diagnostic, ...]:
        return tuple(
            Diagnostic(code, f"{sanitizer.name}: {text} ({one['variation']})", texts.kernel_file, line, 1)
            for one in compared
            for name, text in one["differences"].items()
            if why == ("unordered" if name in one["unordered"] else "moving" if name in one["moving"] else "")
        )

    wrong = findings(codes.SANITIZER, "")
    if wrong:
        runs = max(one["runs"] for one in compared)
        what = f"other bits in {len(wrong)} results: the port computes something else"
        agree = f", in which {runs} runs of the original agree" if runs > 1 else ""
        return Report(sanitizer.name, Verdict.FAIL, what + agree, wrong[:_MAX_FINDINGS])
    moving = findings(codes.NOT_COMPARABLE, "moving")
    excused = (*findings(codes.NOT_COMPARABLE, "unordered"), *moving)
    what = f"{len(excused)} results are added up by atomics of floats, in whatever order programs come"
    if moving:
        runs = max(one["runs"] for one in compared)
        what = f"{runs} runs of the original differ from one another in what differs ({len(excused)} results)"
    return Report(sanitizer.name, Verdict.NOT_COMPARABLE, what, excused[:_MAX_FINDINGS])


def _not_run(sanitizer: Sanitizer, watched: Watched) -> str:
    """What to add where not every run was made."""
    left, refused = sum(one["runs"] for one in watched.events("left-out")), watched.events("refused")
    late = f"; no time for {left} more" if left else ""
    if not refused:
        return late
    return f"{late}; Triton refuses {len(refused)} more under {sanitizer.name}: {refused[0]['message']}"


def _diagnostic(sanitizer: Sanitizer, found: Found, watched: Watched, texts: Texts) -> Diagnostic:
    path, line, words = _place(found, texts)
    kernel = found.function or _function_at(texts.port, found.line) or _last_kernel(watched)
    if not words and path == texts.kernel_file and line == 1:
        line = _line_of_kernel(texts, kernel or "")
    program, thread = (numbers.replace(",", ", ") for numbers in (found.block, found.thread))
    who = f" (program {program}, thread {thread})" if found.block else ""
    return Diagnostic(codes.SANITIZER, f"{sanitizer.name}: {found.text}{words}{who}", path, line, 1, kernel or None)


def _last_kernel(watched: Watched) -> str:
    raised = watched.events("raised")
    return str(raised[0]["kernel"]) if raised else ""


def _place(found: Found, texts: Texts) -> tuple[str, int, str]:
    """Where to report a place that a process named: path, line, and words for a line of a port that is in no file."""
    named = Path(found.file).name
    if texts.port_file is not None and named == Path(texts.port_file).name and found.line:
        return texts.port_file, found.line, ""
    original = os.path.abspath(texts.kernel_file)
    in_port = named == Path(texts.kernel_file).name and os.path.abspath(found.file) != original
    lines = texts.port.splitlines()
    if in_port and 0 < found.line <= len(lines):
        words = f"; line {found.line} of the port: {lines[found.line - 1].strip()}"
        return texts.kernel_file, _line_of_kernel(texts, _function_at(texts.port, found.line)), words
    if found.file and Path(found.file).is_file():
        return os.path.relpath(found.file), found.line, ""
    return texts.port_file or texts.kernel_file, 1, ""


def _function_at(text: str, line: int) -> str:
    """The name of the function that a line lies in; empty for none."""
    within = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(within, key=lambda node: node.lineno).name if within else ""


def _line_of_kernel(texts: Texts, name: str) -> int:
    kernels = {kernel.name: kernel.node.lineno for kernel in find_kernels(texts.original)}
    return kernels.get(name, 1)
