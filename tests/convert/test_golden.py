"""The fixtures: what `convert` writes is what stands in fixtures/<name>/expected/literal.py."""

import re
from pathlib import Path

import pytest

from tests.convert.kernels import convert, ported

ROOT = Path(__file__).parents[2]
FIXTURES = sorted(path for path in ROOT.glob("fixtures/*/*.py") if path.stem == path.parent.name)


def test_every_fixture_is_here() -> None:
    assert len(FIXTURES) >= 14


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_the_output_is_the_expected_one(path: Path) -> None:
    expected = path.parent / "expected" / "literal.py"
    hint = f"run `python scripts/update_expected.py {path.stem}` and read what changed"
    assert expected.is_file(), hint
    assert ported(path.read_text(encoding="utf-8")) == expected.read_text(encoding="utf-8"), hint


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_host_code_and_comments_survive(path: Path) -> None:
    """Every line with a comment or outside of a kernel is in the output, in order; descriptors get a layout there."""
    text = path.read_text(encoding="utf-8")
    kept = iter(convert(text).text.splitlines())
    inside = False
    for line in text.splitlines():
        if line.startswith(("@triton.jit", "def ", "class ", "@")) or (line and not line.startswith((" ", ")", "#"))):
            inside = line.startswith("@triton.jit") or (inside and line.startswith("def "))
        if (inside and "#" not in line) or line.startswith(("@", "import triton.language", "from triton.language")):
            continue
        if "TensorDescriptor" in line:
            continue
        wanted = line[line.index("#") :] if inside else line
        assert any(wanted in other for other in kept), line


@pytest.mark.parametrize(
    ("path", "version"),
    # What is between the oldest and the newest has the forms of one or the other: each fixture is written for one of
    # these two.
    [(path, version) for place, path in enumerate(FIXTURES) for version in ("3.6", ("3.7", "3.8")[place % 2])],
    ids=lambda value: value.stem if isinstance(value, Path) else value,
)
def test_the_output_is_for_the_version_that_was_asked_for(path: Path, version: str) -> None:
    # Twice for the oldest here, and for the newest above.
    text = ported(path.read_text(encoding="utf-8"), version, twice=version == "3.6")
    said = re.search(
        r"^# tritonport: stage literal(?: for sm_\d+)?, Triton (3\.\d+)(?: to (3\.\d+))?$", text, re.MULTILINE
    )
    assert said is not None
    assert said[1] <= version <= (said[2] or said[1])
