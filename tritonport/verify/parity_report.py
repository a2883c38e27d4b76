"""The report of a parity check: tables, documents, and findings in the formats that every command shares."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tritonport import __version__
from tritonport.report import DOCUMENTS, Diagnostic, FileReport, Report, render
from tritonport.report.exit_codes import NOT_RUN
from tritonport.verify.verdict import EXIT_CODES, TIER_TITLES, FileResult, TierResult, Verdict, exit_code

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


def render_results(results: Sequence[FileResult], output_format: str, verbose: bool = False) -> str:
    """The whole report as text that ends with a newline.

    Args:
        output_format: one of `report.FORMATS`.
        verbose: in the `full` format, print the notes of passing tiers too.
    """
    if output_format == "json":
        import json

        return json.dumps(to_json(results), indent=2) + "\n"
    if output_format == "junit":
        return _junit(results)
    if output_format == "markdown":
        return _markdown(results)
    findings = render(_findings(results), output_format)
    if output_format in DOCUMENTS or output_format == "github":
        return findings
    if output_format == "concise":
        return findings + "".join(f"{_concise(result)}\n" for result in results)
    return findings + "\n".join(_table(result, verbose) for result in results)


def summary(results: Sequence[FileResult]) -> str:
    """One line for a person: `1 file, 2 stages: 2 PASS; T1 NOT-RUN, which was asked for`."""
    counts = [f"{number} {verdict.value}" for verdict in Verdict if (number := _count(results, verdict))]
    if not counts:
        return "no kernel file with a case"
    files, stages = (
        len(dict.fromkeys(kind)) for kind in ([one.path for one in results], [one.stage for one in results])
    )
    about = f"{files} file" if files == 1 else f"{files} files"
    about += f", {stages} stages" if stages > 1 else ""
    return f"{about}: {', '.join(counts)}{_why_not_done(results)}"


def _why_not_done(results: Sequence[FileResult]) -> str:
    """Tiers that did not run and decide the exit code, which the verdicts of the files do not say."""
    passing = [one for one in results if one.exit_code == NOT_RUN and EXIT_CODES[one.verdict] != NOT_RUN]
    missing = [tier for one in passing for tier in one.tiers if tier.verdict is Verdict.NOT_RUN]
    asked = {tier for one in passing for tier in one.requested}
    named = dict.fromkeys(tier.tier for tier in missing if tier.tier in asked)
    if named:
        return f"; {', '.join(named)} NOT-RUN, though asked for (exit code {NOT_RUN})"
    return f"; no kernel was run (exit code {NOT_RUN})" if passing else ""


def _count(results: Sequence[FileResult], verdict: Verdict) -> int:
    return sum(result.verdict is verdict for result in results)


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _findings(results: Sequence[FileResult]) -> Report:
    report = Report()
    for result, found in _by_stage(results):
        # A finding may be about the case or a port in a file: the excerpt is of the file that it names.
        for path in dict.fromkeys([result.path, *(one.path for one in found)]):
            own = tuple(one for one in found if one.path == path)
            lines = _lines(path) if own else []
            source = {one.line: lines[one.line - 1] for one in own if one.line <= len(lines)}
            report.add(FileReport(path, (), own, False, source))
    return report


def _by_stage(results: Sequence[FileResult]) -> Iterator[tuple[FileResult, tuple[Diagnostic, ...]]]:
    """The findings of each file and stage: once what all stages of a file share, with its stage what they do not."""
    # What the conversion reports, every tier that converts reports.
    own = [tuple(dict.fromkeys(one for tier in result.tiers for one in tier.findings)) for result in results]
    said: set[tuple[str, Diagnostic]] = set()
    for result, findings in zip(results, own, strict=True):
        stages = [found for other, found in zip(results, own, strict=True) if other.path == result.path]
        shown = []
        for finding in findings:
            if all(finding in found for found in stages):
                if (result.path, finding) not in said:
                    shown.append(finding)
                said.add((result.path, finding))
            else:
                shown.append(replace(finding, message=f"{finding.message} (stage {result.stage})"))
        yield result, tuple(shown)


def _concise(result: FileResult) -> str:
    tiers = ", ".join(f"{tier.tier} {tier.verdict.value}" for tier in result.tiers)
    return f"{result.title}: {result.verdict.value} ({tiers})"


def _table(result: FileResult, verbose: bool) -> str:
    rows = [f"{result.title}  {result.verdict.value}"]
    for tier in result.tiers:
        title, verdict = TIER_TITLES[tier.tier], tier.verdict.value
        seconds = f"{tier.seconds:.1f} s" if tier.seconds else ""
        rows.append(f"  {tier.tier} {title:<8} {verdict:<14} {seconds:>7}  {tier.summary}".rstrip())
        if verbose or tier.verdict is not Verdict.PASS:
            rows += [f"     {note}" for note in tier.notes]
    return "\n".join(rows) + "\n"


def to_json(results: Sequence[FileResult]) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "schema_version": 1,
        "tritonport": __version__,
        "exit_code": exit_code(results),
        "files": [
            {
                "path": result.path,
                "stage": result.stage,
                "case": result.case,
                "verdict": result.verdict.value,
                "exit_code": result.exit_code,
                "tiers": [_tier_json(tier) for tier in result.tiers],
            }
            for result in results
        ],
    }


def _tier_json(tier: TierResult) -> dict[str, Any]:
    return {
        "tier": tier.tier,
        "name": TIER_TITLES[tier.tier],
        "verdict": tier.verdict.value,
        "summary": tier.summary,
        "seconds": tier.seconds,
        "findings": [
            {
                "code": found.code,
                "name": found.name,
                "severity": found.severity,
                "message": found.message,
                "path": found.path,
                "line": found.line,
                "column": found.column,
                "kernel": found.kernel,
                "hint": found.advice,
            }
            for found in tier.findings
        ],
        "notes": list(tier.notes),
        **tier.data,
    }


def _markdown(results: Sequence[FileResult]) -> str:
    """A row per file with the verdict of each tier, then the findings."""
    from tritonport.report.formats.markdown_format import cell, findings

    tiers = list(dict.fromkeys(tier.tier for result in results for tier in result.tiers))
    lines = [
        "### tritonport parity",
        "",
        f"| file | {' | '.join([*tiers, 'verdict'])} |",
        "|---" * (len(tiers) + 2) + "|",
    ]
    for result in results:
        by_tier = {tier.tier: tier.verdict.value for tier in result.tiers}
        verdicts = [by_tier.get(tier, "") for tier in tiers]
        lines.append(f"| {cell(result.title)} | {' | '.join([*verdicts, result.verdict.value])} |")
    lines += ["", summary(results), ""]
    table = findings(_findings(results))
    return "\n".join(lines) + (f"\n{table}" if table else "")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def _junit(results: Sequence[FileResult]) -> str:
    """A suite per file, a test case per tier."""
    root = ElementTree.Element("testsuites", name="tritonport parity-check")
    for result in results:
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(result.title))
        for tier in result.tiers:
            _junit_case(suite, result, tier)
            for test in tier.data.get("tests", ()):
                _junit_test(suite, tier, test)
        for tag, attribute in (
            ("testcase", "tests"),
            ("failure", "failures"),
            ("error", "errors"),
            ("skipped", "skipped"),
        ):
            suite.set(attribute, str(len(list(suite.iter(tag)))))
    for attribute in ("tests", "failures", "errors", "skipped"):
        root.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


_JUNIT_TAGS: Mapping[Verdict, str] = {
    Verdict.FAIL: "failure",
    Verdict.ERROR: "error",
    Verdict.NOT_COMPARABLE: "skipped",
    Verdict.NOT_RUN: "skipped",
}


def _junit_test(suite: ElementTree.Element, tier: TierResult, test: Mapping[str, Any]) -> None:
    """One test of the user's."""
    file, _, name = test["test"].partition("::")
    case = ElementTree.SubElement(suite, "testcase", classname=_clean(file), name=_clean(f"{tier.tier} {name or file}"))
    tag = _JUNIT_TAGS.get(Verdict(test["verdict"]))
    if tag is not None:
        ElementTree.SubElement(case, tag, message=_clean(test["why"]), type=test["verdict"])


def _junit_case(suite: ElementTree.Element, result: FileResult, tier: TierResult) -> None:
    name = f"{tier.tier} {TIER_TITLES[tier.tier]}"
    case = ElementTree.SubElement(
        suite, "testcase", classname=_clean(result.title), name=name, time=f"{tier.seconds:.3f}"
    )
    places = [f"{one.path}:{one.line}:{one.column}: {one.code} {one.message}" for one in tier.findings]
    text = _clean("\n".join([*places, *tier.notes]))
    if tier.verdict in _JUNIT_TAGS:
        message = _clean(places[0] if places else tier.summary)
        element = ElementTree.SubElement(case, _JUNIT_TAGS[tier.verdict], message=message, type=tier.verdict.value)
        element.text = text
    elif text:
        ElementTree.SubElement(case, "system-out").text = text
