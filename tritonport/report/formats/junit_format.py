"""JUnit XML: a suite per file, a test case per kernel, and one for what concerns the whole file."""

import re
from xml.etree import ElementTree

from tritonport.report.diagnostic import Diagnostic
from tritonport.report.exit_codes import UNUSABLE, diagnostic_exit_code
from tritonport.report.formats.concise_format import line
from tritonport.report.report import FileReport, Report

# XML 1.0 has no way to write these characters.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def _case(suite: ElementTree.Element, path: str, name: str, found: list[Diagnostic], left: bool) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=_clean(path), name=_clean(name), time="0")
    text = _clean("\n".join(line(one) for one in found))
    errors = [one for one in found if one.severity == "error"]
    if any(diagnostic_exit_code(one.code, one.severity) == UNUSABLE for one in found):
        ElementTree.SubElement(case, "error", message=_clean(errors[0].message), type=errors[0].code).text = text
    elif errors or left:
        message = errors[0].message if errors else "left as it was"
        kind = errors[0].code if errors else "left"
        ElementTree.SubElement(case, "failure", message=_clean(message), type=kind).text = text
    elif text:
        ElementTree.SubElement(case, "system-out").text = text


def _suite(file: FileReport) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_clean(file.path))
    names = {kernel.name for kernel in file.kernels}
    for kernel in file.kernels:
        found = [one for one in file.diagnostics if one.kernel == kernel.name]
        _case(suite, file.path, kernel.name, found, kernel.status == "left")
    rest = [one for one in file.diagnostics if one.kernel not in names]
    if rest or not file.kernels:
        _case(suite, file.path, "(file)", rest, False)
    for tag, attribute in (("testcase", "tests"), ("failure", "failures"), ("error", "errors")):
        suite.set(attribute, str(len(list(suite.iter(tag)))))
    return suite


def render(report: Report) -> str:
    """The document, indented."""
    root = ElementTree.Element("testsuites", name="tritonport")
    root.extend(_suite(file) for file in report.files)
    for attribute in ("tests", "failures", "errors"):
        root.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
