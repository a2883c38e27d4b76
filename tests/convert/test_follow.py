"""`convert --follow`: helpers of other files of the project, ported into files of their own."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tritonport.cli import cli
from tritonport.source.project import package_level, path_in_package, same_project

HEAD = "import triton\nimport triton.language as tl\n"
MATH = f"""{HEAD}
from .constants import SCALE


@triton.jit
def act(x):
    \"\"\"Twice the exponential.\"\"\"
    return tl.exp(x) * SCALE


@triton.jit
def ramp(x, N: tl.constexpr):
    return act(x) + tl.arange(0, N)


@triton.jit
def unportable(x):
    return tl.dot_scaled(x, x, "e4m3", x, x, "e4m3")
"""
KERNEL = """

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, {})
"""
LOADED = "tl.load(x_ptr + offs)"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package with a helper file, one of constants, and a folder of kernels."""
    package = tmp_path / "project" / "followed"
    (package / "ops").mkdir(parents=True)
    for folder in (package, package / "ops"):
        (folder / "__init__.py").write_text("")
    (package / "constants.py").write_text(f"{HEAD}SCALE = tl.constexpr(2.0)\n")
    (package / "math.py").write_text(MATH)
    return package


def write_kernel(project: Path, imports: str, expression: str, name: str = "use") -> Path:
    file = project / "ops" / f"{name}.py"
    file.write_text(f"{HEAD}{imports}\n{KERNEL.format(expression)}")
    return file


def follow(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["convert", "--follow", *map(str, arguments), "--output-format", "concise"])


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.py")}


def test_a_helper_gets_a_file_of_its_own_and_the_original_stays(project: Path) -> None:
    file = write_kernel(project, "from ..math import ramp", f"ramp({LOADED}, BLOCK)")

    result = follow("-w", file)

    assert result.exit_code == 0, result.output
    assert (project / "math.py").read_text() == MATH
    assert "from ..math_gluon import ramp\n" in file.read_text()
    assert "from ..math import" not in file.read_text()
    assert "def ramp" not in file.read_text()
    assert (project / "math_gluon.py").read_text() == (
        "# tritonport: stage literal, Triton 3.6 to 3.9, helpers of followed.math\n"
        "from triton.experimental import gluon\n"
        "from triton.experimental.gluon import language as gl\n"
        "from followed.math import SCALE\n\n\n"
        "@gluon.jit\n"
        "def act(x):\n"
        '    """Twice the exponential."""\n'
        "    return gl.exp(x) * SCALE\n\n\n"
        "@gluon.jit\n"
        "def ramp(x, N: gl.constexpr):\n"
        "    layout: gl.constexpr = x.type.layout\n"
        "    return act(x) + gl.arange(0, N, layout=layout)\n"
    )
    assert "TP108 'ramp' of followed.math is ported too" in result.stderr


def test_without_the_flag_helpers_are_copied_or_called_as_today(project: Path) -> None:
    file = write_kernel(project, "from ..math import act, ramp", f"act(ramp({LOADED}, BLOCK))")

    CliRunner().invoke(cli, ["convert", "-w", str(file)])

    assert "def ramp" in file.read_text()
    assert not (project / "math_gluon.py").exists()


def test_a_second_run_changes_nothing(project: Path) -> None:
    file = write_kernel(project, "from ..math import ramp", f"ramp({LOADED}, BLOCK)")
    follow("-w", file)
    before = texts(project)

    assert follow("-w", file).exit_code == 0
    assert texts(project) == before


@pytest.mark.parametrize(
    ("imports", "call", "expected"),
    [
        ("from ..math import act as activation", "activation", "from ..math_gluon import act as activation\n"),
        ("from followed.math import act", "act", "from followed.math_gluon import act\n"),
        ("from followed import math as ops", "ops.act", "from followed.math_gluon import act\n"),
        ("import followed.math", "followed.math.act", "from followed.math_gluon import act\n"),
        ("from ..exports import act", "act", "from followed.math_gluon import act\n"),
        ("from .. import exported", "exported", "import act as exported\n"),
    ],
)
def test_spellings_of_an_import(project: Path, imports: str, call: str, expected: str) -> None:
    (project / "exports.py").write_text("from .math import act\n")
    (project / "__init__.py").write_text("from .exports import act as exported\n")
    file = write_kernel(project, imports, f"{call}({LOADED})")

    assert follow("-w", file).exit_code == 0
    if ".exports" in imports:
        expected = expected.replace("followed.math_gluon", "..math_gluon")
    assert expected in file.read_text()
    assert "def act(x):\n" in (project / "math_gluon.py").read_text()


def test_an_import_that_others_use_stays(project: Path) -> None:
    file = write_kernel(project, "from ..math import act\n\nTABLE = {'act': act}", f"act({LOADED})")

    assert follow("-w", file).exit_code == 0

    assert "from ..math import act\n" in file.read_text()
    assert "from ..math_gluon import act as act_gluon\n" in file.read_text()
    assert f"act_gluon(gl.{LOADED[3:]})" in file.read_text()


def test_either_of_two_definitions_is_left_and_said(project: Path) -> None:
    """Which import works is known when the file runs; both work in a Gluon kernel as they are."""
    (project / "fast.py").write_text(f"{HEAD}\n@triton.jit\ndef act(x):\n    return tl.exp2(x)\n")
    imports = "try:\n    from ..fast import act\nexcept ImportError:\n    from ..math import act"
    file = write_kernel(project, imports, f"act({LOADED})")

    result = follow("-w", file)

    assert result.exit_code == 0
    assert "TP104" in result.stderr
    assert imports in file.read_text()
    assert not (project / "math_gluon.py").exists()


def test_a_helper_that_cannot_be_ported_leaves_its_caller(project: Path) -> None:
    file = write_kernel(project, "from ..math import unportable", f"unportable({LOADED})")
    text = file.read_text()

    result = follow("-w", file)

    assert result.exit_code == 1
    assert file.read_text() == text
    assert "in unportable, " in result.stderr
    assert "math.py:" in result.stderr
    assert not (project / "math_gluon.py").exists()


def test_files_that_call_each_other_in_a_circle_share_one(project: Path) -> None:
    (project / "first.py").write_text(
        f"{HEAD}from . import second\n\n@triton.jit\ndef one(x):\n    return second.two(x) + 1\n\n"
        "@triton.jit\ndef three(x):\n    return x * 3\n"
    )
    (project / "second.py").write_text(
        f"{HEAD}from . import first\n\n@triton.jit\ndef two(x):\n    return first.three(x) + 2\n"
    )
    file = write_kernel(project, "from ..first import one", f"one({LOADED})")

    assert follow("-w", file).exit_code == 0

    made = (project / "first_gluon.py").read_text()
    assert made.index("def three") < made.index("def two") < made.index("def one")
    assert not (project / "second_gluon.py").exists()
    assert "from ..first_gluon import one\n" in file.read_text()


def test_helpers_of_helpers_are_imported_from_their_own_files(project: Path) -> None:
    (project / "outer.py").write_text(
        f"{HEAD}from .math import act\n\n@triton.jit\ndef twice(x):\n    return act(act(x))\n"
    )
    file = write_kernel(project, "from ..outer import twice", f"twice({LOADED})")

    assert follow("-w", file).exit_code == 0

    assert "from followed.math_gluon import act\n" in (project / "outer_gluon.py").read_text()
    assert "import act" not in file.read_text()


def test_ports_share_a_file_and_a_version_that_differs_gets_its_own(project: Path) -> None:
    """The same helper for a vector and for a tile reads the same; what makes a tensor is told its layout."""
    (project / "more.py").write_text(
        f"{HEAD}\n@triton.jit\ndef index(N: tl.constexpr):\n    return tl.arange(0, N)\n\n\n"
        "@triton.jit\ndef shifted(x, N: tl.constexpr):\n    return x + index(N)\n"
    )
    first = write_kernel(project, "from ..more import shifted", f"shifted({LOADED}, BLOCK)", "first")
    second = write_kernel(project, "from ..more import index", f"{LOADED} + index(BLOCK)", "second")

    assert follow("-w", first, second).exit_code == 0

    made = (project / "more_gluon.py").read_text()
    assert made.count("def index(") == 1
    assert made.count("def shifted(") == 1
    held = made.replace("def index(N: gl.constexpr, layout", "def index(N: gl.constexpr, other")
    (project / "more_gluon.py").write_text(held)
    second.write_text(second.read_text())
    third = write_kernel(project, "from ..more import index", f"{LOADED} + index(BLOCK)", "third")
    assert follow("-w", third).exit_code == 0
    assert (project / "more_gluon.py").read_text() == held
    assert "def index(N: gl.constexpr, layout" in (project / "more_gluon_2.py").read_text()
    assert "from ..more_gluon_2 import index\n" in third.read_text()


def test_a_file_of_somebody_else_is_not_touched(project: Path) -> None:
    (project / "math_gluon.py").write_text("# mine\n")
    file = write_kernel(project, "from ..math import act", f"act({LOADED})")

    assert follow("-w", file).exit_code == 0

    assert (project / "math_gluon.py").read_text() == "# mine\n"
    assert "from ..math_gluon_2 import act\n" in file.read_text()


@pytest.mark.parametrize("flags", [[], ["-o", "port.py"]])
def test_it_needs_a_place_for_several_files(project: Path, flags: list[str]) -> None:
    result = follow(*flags, write_kernel(project, "", LOADED))

    assert result.exit_code == 2
    assert "--follow writes several files" in result.output


def test_a_diff_shows_every_file_and_writes_none(project: Path) -> None:
    file = write_kernel(project, "from ..math import ramp", f"ramp({LOADED}, BLOCK)")
    before = texts(project)

    result = follow("--diff", file)

    assert texts(project) == before
    assert "+from ..math_gluon import ramp" in result.stdout
    assert "math_gluon.py" in result.stdout
    assert "+def ramp(x, N: gl.constexpr):" in result.stdout


def test_a_directory_of_results_can_be_laid_over_the_package(project: Path, tmp_path: Path) -> None:
    file = write_kernel(project, "from ..math import ramp", f"ramp({LOADED}, BLOCK)")

    assert follow(file, "--out-dir", tmp_path / "out").exit_code == 0

    assert set(texts(tmp_path / "out")) == {"followed/ops/use.py", "followed/math_gluon.py"}


def test_scripts_without_a_package(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(MATH.replace("from .constants import SCALE", "SCALE = tl.constexpr(2.0)"))
    file = tmp_path / "script.py"
    file.write_text(f"{HEAD}from helpers import act\n{KERNEL.format(f'act({LOADED})')}")

    assert follow(file, "--out-dir", tmp_path / "out").exit_code == 0

    assert set(texts(tmp_path / "out")) == {"script.py", "helpers_gluon.py"}
    assert "from helpers_gluon import act\n" in (tmp_path / "out" / "script.py").read_text()
    assert "from helpers import SCALE\n" in (tmp_path / "out" / "helpers_gluon.py").read_text()


@pytest.fixture
def importable(project: Path) -> Iterator[None]:
    sys.path.insert(0, str(project.parent))
    yield
    sys.path.remove(str(project.parent))
    for name in [name for name in sys.modules if name.partition(".")[0] == "followed"]:
        del sys.modules[name]


@pytest.mark.usefixtures("importable")
def test_the_ported_package_imports_and_compiles(project: Path) -> None:
    pytest.importorskip("triton")
    from tritonport.verify.compile import compile_kernel

    (project / "outer.py").write_text(
        f"{HEAD}from .math import act\n\n@triton.jit\ndef twice(x):\n    return act(act(x))\n"
    )
    file = write_kernel(project, "from ..outer import twice\nfrom ..math import ramp", f"ramp(twice({LOADED}), BLOCK)")
    assert follow("-w", file).exit_code == 0

    kernel = importlib.import_module("followed.ops.use").kernel
    signature = dict(x_ptr="*fp32", BLOCK="constexpr")
    resources = compile_kernel(dict(fn=kernel, signature=signature, constexprs=dict(BLOCK=512)), "sm_90")

    assert resources.language == "gluon"
    assert resources.load_widths == (16,)
    assert resources.conversions == 0


@pytest.mark.usefixtures("importable")
def test_a_helper_that_calls_the_port_back(project: Path) -> None:
    """The two files import each other as the originals do."""
    pytest.importorskip("triton")
    from tritonport.verify.compile import compile_kernel

    (project / "back.py").write_text(
        f"{HEAD}from .ops import use\n\n@triton.jit\ndef outer(x, N: tl.constexpr):\n"
        "    return use.inner(x) + tl.arange(0, N)\n"
    )
    file = project / "ops" / "use.py"
    inner = "\n\n@triton.jit\ndef inner(x):\n    return x + 1\n"
    file.write_text(f"{HEAD}from .. import back\n{inner}{KERNEL.format(f'back.outer({LOADED}, BLOCK)')}")
    assert follow("-w", file).exit_code == 0

    kernel = importlib.import_module("followed.ops.use").kernel
    signature = dict(x_ptr="*fp32", BLOCK="constexpr")
    resources = compile_kernel(dict(fn=kernel, signature=signature, constexprs=dict(BLOCK=512)), "sm_90")

    assert "def outer(x, N: gl.constexpr)" in (project / "back_gluon.py").read_text()
    assert resources.conversions == 0


def test_what_belongs_together(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "site-packages" / "library"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")

    assert same_project(project / "ops" / "use.py", project / "math.py")
    assert not same_project(project / "ops" / "use.py", other / "math.py")
    assert path_in_package(project / "ops" / "use.py") == Path("followed/ops/use.py")
    assert package_level("a.b.c", Path("c.py"), "a.d") == "..d"
    assert package_level("a.b.c", Path("c.py"), "a.b.d") == ".d"
    assert package_level("a.b", Path("__init__.py"), "a.b.d") == ".d"
    assert package_level("a.b.c", Path("c.py"), "x.d") == "x.d"
