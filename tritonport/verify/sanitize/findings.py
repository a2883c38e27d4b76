"""What sanitizers write, as findings: the device-side asserts of ConSan, the reports of compute-sanitizer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ASSERT = re.compile(
    r"^(?P<file>\S.*?):(?P<line>\d+): (?P<function>.*?): block: \[(?P<block>[\d,]+)\], thread: \[(?P<thread>[\d,]+)\] "
    r"Assertion `(?P<text>.*)` failed\.?",
    re.MULTILINE,
)
"""What the CUDA driver prints for each thread at an assert that fails."""
_MARK = "========="
_AT = re.compile(r"\bat (?P<function>\S+?)(?:\(.*?\))?\+0x[0-9a-f]+(?: in (?P<file>.+?):(?P<line>\d+))?\s*$")
_AT_OLD = re.compile(r"\bat 0x[0-9a-f]+ in (?P<file>.+?):(?P<line>\d+):(?P<function>\w+)")
_THREAD = re.compile(r"\bby thread \((?P<thread>[\d,]+)\) in block \((?P<block>[\d,]+)\)")
_NO_REPORT = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "LEAK SUMMARY", "Target application", "No attachable process")


@dataclass(frozen=True)
class Found:
    """One thing that a sanitizer reports; what several threads report is one.

    Attributes:
        text: what is wrong.
        file, line: where in the text of the kernel; an empty file where it says none.
        function: the function that it names; empty for none.
        block, thread: which of them reported it first, such as `0,0,0`.
    """

    text: str
    file: str = ""
    line: int = 0
    function: str = ""
    block: str = ""
    thread: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """The same for every thread."""
        return self.text, self.file, self.line


def device_asserts(output: str) -> list[Found]:
    """The device-side asserts in what a process wrote, each once."""
    found = []
    for match in _ASSERT.finditer(output):
        function = "" if match["function"] == "unknown" else match["function"]
        file, line = (match["file"], int(match["line"])) if match["file"] != "unknown" else ("", 0)
        found.append(Found(match["text"], file, line, function, match["block"], match["thread"]))
    return _each_once(found)


def memcheck_reports(output: str) -> list[Found]:
    """The reports of compute-sanitizer in what a process wrote, each once."""
    return _each_once([_report(block) for block in _blocks(output)])


def _each_once(found: list[Found]) -> list[Found]:
    return list({one.key: one for one in reversed(found)}.values())[::-1]


def _blocks(output: str) -> Iterator[list[str]]:
    """The lines of each report: a headline, and what is indented below it."""
    block: list[str] = []
    for line in output.splitlines():
        if not line.startswith(_MARK):
            continue
        text = line.removeprefix(_MARK)
        if text.startswith("     ") and block:
            block.append(text.strip())
            continue
        if block:
            yield block
        headline = text.strip()
        block = [headline] if headline and not headline.startswith(_NO_REPORT) else []
    if block:
        yield block


def _report(block: list[str]) -> Found:
    text = "; ".join([block[0], *(line for line in block[1:] if line.startswith(("Address", "Access", "and is")))])
    where = next((match for line in block[1:] if (match := _AT.search(line) or _AT_OLD.search(line))), None)
    who = next((match for line in block[1:] if (match := _THREAD.search(line))), None)
    # Addresses are different in every run, and for every thread.
    text = re.sub(r"0x[0-9a-f]+", "0x...", text)
    return Found(
        text,
        (where["file"] or "") if where else "",
        int(where["line"] or 0) if where else 0,
        where["function"] if where else "",
        who["block"] if who else "",
        who["thread"] if who else "",
    )
