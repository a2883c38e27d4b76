"""Names are followed through the files of a package, without importing one."""

from pathlib import Path

import pytest

from tritonport.source.module import SourceModule
from tritonport.source.project import Project

JIT = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef helper(x):\n    return x\n"


@pytest.fixture
def read(tmp_path: Path):
    """Write files below a package `pkg` and read the last of them."""

    def write(**files: str) -> SourceModule:
        (tmp_path / "pkg" / "sub").mkdir(parents=True, exist_ok=True)
        for folder in ("pkg", "pkg/sub"):
            (tmp_path / folder / "__init__.py").touch()
        for name, text in files.items():
            file = tmp_path / "pkg" / f"{name.replace('__', '/')}.py"
            file = file.parent / "__init__.py" if file.stem == "init" else file
            file.write_text(text)
        module = Project(()).read(file)
        assert module is not None
        return module

    return write


def meanings(module: SourceModule, path: str) -> list[tuple[str, str]]:
    return [(found.kind, found.qualified) for found in module.lookup(path)]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("from .utils import helper", "helper"),
        ("from .utils import helper as h", "h"),
        ("from pkg.utils import helper", "helper"),
        ("import pkg.utils", "pkg.utils.helper"),
        ("import pkg.utils as u", "u.helper"),
        ("from . import utils", "utils.helper"),
        ("from .utils import *", "helper"),
        ("try:\n    from missing import helper\nexcept ImportError:\n    from .utils import helper", "helper"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .utils import helper", "helper"),
        ("from .utils import helper as first\nsecond = first", "second"),
    ],
)
def test_a_helper_is_found(read, line: str, path: str) -> None:
    module = read(utils=JIT, use=f"{line}\n")
    assert ("kernel", "pkg.utils.helper") in meanings(module, path)


def test_packages_hand_names_on(read) -> None:
    module = read(sub__deep=JIT, sub__init="from .deep import helper\n", use="from pkg.sub import helper\n")
    assert meanings(module, "helper") == [("kernel", "pkg.sub.deep.helper")]


def test_the_language_is_handed_on(read) -> None:
    compat = "try:\n    import triton.language as tl\nexcept ImportError:\n    tl = None\n"
    module = read(compat=compat, use="from .compat import tl\n")
    assert meanings(module, "tl.load") == [("external", "triton.language.load")]


def test_an_operation_under_another_name(read) -> None:
    module = read(op="import triton.language as tl\nexp = tl.exp\n", use="from .op import exp\n")
    assert meanings(module, "exp") == [("external", "triton.language.exp")]


def test_both_definitions_of_an_if(read) -> None:
    body = "    @triton.jit\n    def f(x): return x\n"
    text = f"import triton\nif triton.FAST:\n{body}else:\n{body}"
    assert meanings(read(op=text, use="from .op import f\n"), "f") == [("kernel", "pkg.op.f")] * 2


def test_a_name_that_leads_back_to_itself(read) -> None:
    module = read(a="from .b import f\n", b="from .a import f\n")
    assert [kind for kind, _ in meanings(module, "f")] == ["external"]


def test_private_names_do_not_come_with_a_star(read) -> None:
    module = read(utils=JIT.replace("helper", "_helper"), use="from .utils import *\n")
    assert meanings(module, "_helper") == []


def test_a_script_finds_the_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text(JIT)
    (tmp_path / "use.py").write_text("from utils import helper\n")
    module = Project(()).read(tmp_path / "use.py")
    assert module is not None
    assert meanings(module, "helper") == [("kernel", "utils.helper")]


def test_text_without_a_folder_has_no_neighbours() -> None:
    module = SourceModule("from .utils import helper\n", "<stdin>", Project(()))
    assert meanings(module, "helper") == [("external", ".utils.helper")]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    project, file = Project(()), tmp_path / "m.py"
    file.write_text("x = 1\n")
    first = project.read(file)
    assert project.read(file) is first
    file.write_text("longer = 1\n")
    second = project.read(file)
    assert second is not None
    assert second.binds("longer")
