"""Which files the paths of a command line stand for."""

from pathlib import Path

import pytest

from tritonport.source.paths import find_inputs


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = [
        "b.py", "a.py", "notes.txt", "sub/c.py", ".hidden/d.py", "build/e.py", "env/pyvenv.cfg", "env/lib/f.py",
        "__pycache__/g.py", "legacy/h.py", "sub/old_i.py",
    ]  # fmt: skip
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_directory_is_walked_in_order(tree: Path) -> None:
    found = find_inputs(["."])
    assert [one.path for one in found] == ["a.py", "b.py", "legacy/h.py", "sub/c.py", "sub/old_i.py"]
    assert not any(one.explicit for one in found)
    assert found[3].relative == Path("sub/c.py")


def test_patterns_and_the_output_directory_are_passed_over(tree: Path) -> None:
    assert [one.path for one in find_inputs(["."], ["legacy", "old_*.py"])] == ["a.py", "b.py", "sub/c.py"]
    assert [one.path for one in find_inputs(["."], ["sub/c.py"], Path("legacy"))] == ["a.py", "b.py", "sub/old_i.py"]


def test_a_file_that_is_named_is_taken_once_and_whatever_it_is_called(tree: Path) -> None:
    found = find_inputs(["notes.txt", ".hidden/d.py", "sub", "sub/c.py", "./notes.txt"], ["*"])
    assert [(one.path, one.explicit) for one in found] == [
        ("./notes.txt", True),
        (".hidden/d.py", True),
        ("sub/c.py", True),
    ]


def test_a_path_that_does_not_exist_is_kept_for_its_message(tree: Path) -> None:
    assert [one.path for one in find_inputs(["missing.py"])] == ["missing.py"]
