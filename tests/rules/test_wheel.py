"""The wheel: the rules are inside it, and the installed package finds them."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tritonport import __version__
from tritonport.rules_data import diagnostic_codes, load_page, rules_dir

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    built = list(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    assert [Path(path).name for path in built] == [f"tritonport-{__version__}-py3-none-any.whl"]
    return Path(built[0])


def test_the_rules_are_in_it_and_nothing_else_at_the_top(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for file in (ROOT / "rules").rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                inside = f"tritonport/rules/{file.relative_to(ROOT / 'rules').as_posix()}"
                assert archive.read(inside) == file.read_bytes()
        assert "tritonport/py.typed" in names
        metadata = archive.read(f"tritonport-{__version__}.dist-info/METADATA").decode()
    assert {name.split("/")[0] for name in names} == {"tritonport", f"tritonport-{__version__}.dist-info"}
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra" not in line]
    assert sorted(required) == [
        "Requires-Dist: click>=8.1",
        "Requires-Dist: libcst>=1.5",
        "Requires-Dist: tomli>=2.0; python_version < '3.11'",
    ]
    assert "License-Expression: MIT" in metadata


def test_the_unpacked_wheel_finds_its_rules(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tritonport.rules_data import rules_dir, load_page\n"
        "print(rules_dir()); print(load_page('TP101').name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [str(tmp_path / "tritonport" / "rules"), "unsupported-call"]


def test_a_checkout_finds_its_rules() -> None:
    assert rules_dir() == ROOT / "rules"
    assert load_page(diagnostic_codes()[0]).code == "TP001"
