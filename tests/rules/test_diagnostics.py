"""The pages of the diagnostics: well formed, and exactly those that the source reports."""

import ast
import re
from pathlib import Path

import pytest

from tritonport.report.rule_page import index_markdown
from tritonport.rules_data import codes_by_name, diagnostic_codes, load_page

ROOT = Path(__file__).parents[2]


def used_codes() -> dict[str, str]:
    """The codes that stand in the source as a string of their own (no docstring does), with the file."""
    found: dict[str, str] = {}
    for file in sorted((ROOT / "tritonport").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"TP\d{3}", node.value):
                found.setdefault(node.value, str(file.relative_to(ROOT)))
    return found


@pytest.mark.parametrize("code", diagnostic_codes())
def test_page(code: str) -> None:
    page = load_page(code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", page.name)
    assert re.fullmatch(r"\d+\.\d+\.\d+", page.since)
    assert page.hint.endswith(".") and len(page.hint) > 20
    assert len(page.body) > 100
    assert page.body.count("```") % 2 == 0
    assert all(len(line) <= 120 for line in page.body.splitlines())
    assert not page.body.startswith("#"), "the heading is made from the code and the name"


def test_names_are_unique() -> None:
    assert len(codes_by_name()) == len(diagnostic_codes())


def test_every_code_of_the_source_has_a_page() -> None:
    missing = {code: file for code, file in used_codes().items() if code not in diagnostic_codes()}
    assert missing == {}, "write rules/diagnostics/TPnnn.md"


def test_every_page_is_of_a_code_that_is_used_or_reserved() -> None:
    used = used_codes()
    idle = [code for code in diagnostic_codes() if code not in used and not load_page(code).reserved]
    assert idle == [], "no source reports these: mark the page 'reserved: true'"
    wrong = [code for code in diagnostic_codes() if code in used and load_page(code).reserved]
    assert wrong == [], "the source reports these: take 'reserved: true' off the page"


def test_the_index_is_made_from_the_pages() -> None:
    page = (ROOT / "docs" / "diagnostics.md").read_text()
    assert page.partition("\n| code |")[2] == index_markdown().removeprefix("| code |"), (
        "docs/diagnostics.md is out of date: run scripts/docs.sh"
    )


def test_the_index_says_which_codes_nothing_reports() -> None:
    rows = {line.split("]")[0].removeprefix("| ["): line.split(" | ") for line in index_markdown().splitlines()[2:]}
    assert {code for code, row in rows.items() if row[2] == "reserved"} == {
        code for code in diagnostic_codes() if load_page(code).reserved
    }


def test_a_code_without_a_page() -> None:
    with pytest.raises(KeyError):
        load_page("TP000")
    with pytest.raises(KeyError):
        load_page("../api")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no front matter\n", "no front matter"),
        ("---\nname x\n---\nbody\n", "not 'key: value'"),
        ("---\ncolour: red\n---\nbody\n", "unknown key 'colour'"),
        ("---\nname: x\n---\nbody\n", "the key 'severity' is missing"),
        ("---\nname: x\nseverity: bad\neffort: low\nsince: 1\nhint: h\n---\nb\n", "severity 'bad'"),
    ],
)
def test_a_page_that_is_not_well_formed(text: str, message: str) -> None:
    from tritonport.rules_data import _parse_page

    with pytest.raises(ValueError, match=message):
        _parse_page("TP999", text)
