"""Notes in the output, and what a person writes to silence them."""

import pytest

from tritonport.report import (
    EVERYTHING,
    Diagnostic,
    InputError,
    ignored_codes,
    is_ignored,
    note_code,
    render_note,
    strip_notes,
)

FOUND = Diagnostic("TP106", "num_stages=3 has no effect", "a.py", 7, 5, kernel="k")


def test_a_note_reads_back() -> None:
    note = render_note(FOUND)
    assert note == "# tritonport: TP106 num_stages=3 has no effect"
    assert note_code(note) == "TP106"
    assert note_code(f"    {note}\n") == "TP106"


def test_a_note_is_one_line() -> None:
    found = Diagnostic("TP101", "tl.dot(\n    a,\n    b)", "a.py", 1, 1)
    assert render_note(found) == "# tritonport: TP101 tl.dot( a, b)"


@pytest.mark.parametrize("comment", ["# TP106", "# tritonport", "# tritonport: later", "# tritonport: TP1067", "x = 1"])
def test_other_comments_are_no_notes(comment: str) -> None:
    assert note_code(comment) is None


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# tritonport: ignore[TP106]", {"TP106"}),
        ("#tritonport:ignore[TP106,TP301]", {"TP106", "TP301"}),
        ("# tritonport: ignore[TP106, loop-hint-kept]  # because", {"TP106", "loop-hint-kept"}),
        ("# noqa  # tritonport: ignore[TP106]", {"TP106"}),
        ("# tritonport: ignore", {EVERYTHING}),
        ("# tritonport: ignore: the loop is short", {EVERYTHING}),
        ("# tritonport: ignore[]", set()),
        ("# tritonport: ignore[TP106", set()),
        ("# tritonport: ignore this line", set()),
        ("# tritonport: ignored[TP106]", set()),
        ("# tritonport: TP106 ignore", set()),
    ],
)
def test_what_a_comment_silences(comment: str, codes: set[str]) -> None:
    assert ignored_codes(comment) == codes


def test_silencing_by_code_by_name_and_altogether() -> None:
    assert is_ignored(FOUND, {"TP106"})
    assert is_ignored(FOUND, {"loop-hint-kept"})
    assert is_ignored(FOUND, {EVERYTHING})
    assert not is_ignored(FOUND, {"TP101", "unsupported-call"})
    assert not is_ignored(FOUND, frozenset())


def test_stripping_takes_whole_lines_of_the_codes_asked_for() -> None:
    text = (
        "# tritonport: TP106 a\n"
        "x = 1  # tritonport: TP106 stays: the line has code\n"
        "    # tritonport: TP101 b\r\n"
        "y = 2\n"
        "# tritonport: ignore[TP106]\n"
    )
    assert strip_notes(text, {"TP106"}) == text.removeprefix("# tritonport: TP106 a\n")
    assert strip_notes(text) == (
        "x = 1  # tritonport: TP106 stays: the line has code\ny = 2\n# tritonport: ignore[TP106]\n"
    )
    assert strip_notes(text, set()) == text


def test_the_page_gives_what_a_finding_does_not_say() -> None:
    assert (FOUND.name, FOUND.severity, FOUND.effort) == ("loop-hint-kept", "info", "medium")
    assert FOUND.advice.startswith("Measure;")
    assert Diagnostic("TP106", "m", "a.py", 1, 1, hint="Do this.").advice == "Do this."


def test_an_input_error_reads_as_its_place() -> None:
    error = InputError(Diagnostic("TP001", "no", "a.py", 3, 4))
    assert str(error) == "a.py:3:4: TP001 no"
    assert error.diagnostic.code == "TP001"
