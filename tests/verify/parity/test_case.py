"""Finding and loading cases."""

import inspect
import os
import sys
from pathlib import Path

import pytest

from tests.verify.parity.sources import CASE, ORIGINAL, PORT, edited, write_project
from tritonport.report import InputError
from tritonport.verify.case import defines_case, find_case, load_case
from tritonport.verify.modules import module_name


def refusal(case: Path, kernel: Path, text: str | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        load_case(case, kernel, text)
    return caught.value


def test_the_case_beside_the_kernel_file_is_found(tmp_path):
    kernel = write_project(tmp_path)
    assert find_case(kernel) == tmp_path / "scale_case.py"
    assert find_case(kernel, tmp_path / "port.py") == tmp_path / "port.py"


def test_a_kernel_file_can_be_its_own_case(tmp_path):
    text = ORIGINAL + "\n\ndef make_inputs(device, seed):\n    return {}\n\n\nfrom math import sqrt as launch\n"
    kernel = write_project(tmp_path, original=text, case=None)
    assert find_case(kernel) == kernel
    assert defines_case(kernel)
    case = load_case(kernel, kernel)
    assert case.path == case.kernel_file == kernel
    assert case.launch(4.0) == 2.0


def test_no_case_is_an_error_that_names_both_places(tmp_path):
    kernel = write_project(tmp_path, case=None)
    with pytest.raises(InputError) as caught:
        find_case(kernel)
    assert caught.value.diagnostic.code == "TP805"
    assert "scale_case.py" in str(caught.value)
    with pytest.raises(InputError, match=r"gone\.py:1:1: TP002"):
        find_case(kernel, tmp_path / "gone.py")


def test_both_sides_get_their_own_kernel_and_leave_no_module_behind(tmp_path):
    kernel = write_project(tmp_path)
    modules, path = set(sys.modules), list(sys.path)
    original = load_case(tmp_path / "scale_case.py", kernel)
    ported = load_case(tmp_path / "scale_case.py", kernel, PORT)
    assert not original.compile_specs[0]["fn"].is_gluon()
    assert ported.compile_specs[0]["fn"].is_gluon()
    assert "scale" not in sys.modules and "scale_case" not in sys.modules
    assert sys.path == path
    assert not {name for name in set(sys.modules) - modules if name.startswith("scale")}


def test_the_source_of_the_port_can_be_inspected(tmp_path):
    kernel = write_project(tmp_path)
    ported = load_case(tmp_path / "scale_case.py", kernel, PORT)
    function = ported.compile_specs[0]["fn"].fn
    assert "gl.arange(0, BLOCK, layout=layout)" in inspect.getsource(function)
    assert ported.files[str(inspect.getsourcefile(function))] == f"{kernel}[port]"


def test_what_launch_imports_late_is_the_port_too(tmp_path):
    case = edited(CASE, ("    return scale(x, factor)", "    import scale as late\n\n    return late.scale_kernel"))
    kernel = write_project(tmp_path, case=case)
    for text, gluon in ((None, False), (PORT, True)):
        assert load_case(tmp_path / "scale_case.py", kernel, text).launch(0, 0).is_gluon() is gluon


def test_a_module_of_the_same_name_is_put_back(tmp_path, monkeypatch):
    kernel = write_project(tmp_path)
    other = type(sys)("scale")
    monkeypatch.setitem(sys.modules, "scale", other)
    load_case(tmp_path / "scale_case.py", kernel)
    assert sys.modules["scale"] is other


@pytest.fixture
def package(tmp_path):
    """A package whose `__init__` imports the kernel file, which imports a sibling."""
    folder = tmp_path / "project" / "scaling" / "ops"
    kernel = write_project(
        folder,
        original=edited(ORIGINAL, ("import torch\n", "import torch\nfrom ..helpers import GAIN\n")),
        case=edited(CASE, ("from scale import scale, scale_kernel", "from scaling.ops import scale, scale_kernel\n")),
        port=edited(PORT, ("import torch\n", "import torch\nfrom ..helpers import GAIN\n")),
    )
    (folder / "__init__.py").write_text("from .scale import scale, scale_kernel\n")
    (folder.parent / "__init__.py").write_text("from .ops import scale as scale\n")
    (folder.parent / "helpers.py").write_text(
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Gain:\n    value: 'float'\n\n\nGAIN = Gain(2.0)\n"
    )
    return kernel


def test_a_kernel_file_in_a_package_has_its_dotted_name(package):
    assert module_name(package) == ("scaling.ops.scale", package.parents[2])


def test_a_package_that_imports_the_kernel_gets_the_port(package):
    case = package.with_name("scale_case.py")
    original = load_case(case, package)
    assert original.module == "scaling.ops.scale"
    assert not original.compile_specs[0]["fn"].is_gluon()
    ported = load_case(case, package, package.with_name("port.py").read_text())
    assert ported.compile_specs[0]["fn"].is_gluon()
    assert not [name for name in sys.modules if name.startswith("scaling")]


def test_the_plain_name_of_a_file_in_a_package_is_the_port_too(package):
    case = package.with_name("scale_case.py")
    case.write_text(edited(CASE, ("from scale import", "import scaling\nfrom scale import")))
    package.write_text(ORIGINAL)
    assert load_case(case, package, PORT).compile_specs[0]["fn"].is_gluon()


def test_a_sibling_in_a_package_is_not_importable_from_outside_of_it(package):
    """A package may have a module of the name of a library that is not installed, and asks whether it is."""
    package.with_name("no_such_library.py").write_text("import no_such_library.parts\n")
    asks = "import importlib.util\nFOUND = importlib.util.find_spec('no_such_library')\n"
    package.write_text(ORIGINAL + asks + "assert FOUND is None\n")
    case = package.with_name("scale_case.py")
    case.write_text(CASE)
    assert not load_case(case, package).compile_specs[0]["fn"].is_gluon()


def test_a_file_named_like_a_standard_module_does_not_replace_it(tmp_path):
    import copy

    kernel = tmp_path / "copy.py"
    kernel.write_text(f"{ORIGINAL}\n\ndef make_inputs(device, seed):\n    return {{}}\n\n\ndef launch():\n    pass\n")
    assert load_case(kernel, kernel).module == "copy_file"
    assert sys.modules["copy"] is copy


def test_a_file_name_that_is_no_identifier(tmp_path):
    kernel = tmp_path / "001.scale.py"
    kernel.write_text(
        f"{ORIGINAL}\n\ndef make_inputs(device, seed):\n    return {{}}\n\n\ndef launch():\n    return 7\n"
    )
    assert load_case(kernel, kernel).launch() == 7


def test_a_case_that_raises_at_import_is_reported_at_its_line(tmp_path):
    case = edited(CASE, ("TOL = dict", "LIMIT = 1 / 0\nTOL = dict"))
    kernel = write_project(tmp_path, case=case)
    line = case.splitlines().index("LIMIT = 1 / 0") + 1
    error = refusal(tmp_path / "scale_case.py", kernel)
    assert (error.diagnostic.path, error.diagnostic.line) == (str(tmp_path / "scale_case.py"), line)
    assert error.diagnostic.message == "raises when it is imported: ZeroDivisionError: division by zero"
    if sys.version_info >= (3, 11):
        assert error.diagnostic.column == 9


def test_an_import_that_fails_in_another_file_is_reported_there_with_the_way_to_it(tmp_path, monkeypatch):
    """The package of a kernel file is imported before any line of the file."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("ops/__init__.py", "from .norm import x\n"), ("ops/norm.py", "\nimport no_such_module\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    kernel = write_project(tmp_path / "ops", case=CASE.replace("from scale", "from ops.scale"))
    found = refusal(tmp_path / "ops" / "scale_case.py", kernel).diagnostic
    assert (found.path, found.line) == (os.path.join("ops", "norm.py"), 2)
    assert found.message.endswith(
        f"No module named 'no_such_module' (imported by {os.path.join('ops', '__init__.py')}:1)"
    )


def test_an_import_of_the_case_that_fails_further_on_names_the_line_that_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text("\n\nimport no_such_module\n")
    kernel = write_project(tmp_path, case=edited(CASE, ("import torch", "import torch\nimport tools")))
    found = refusal(tmp_path / "scale_case.py", kernel).diagnostic
    assert (found.path, found.line) == (str(tmp_path / "scale_case.py"), 4)
    assert found.message.endswith("No module named 'no_such_module' (in tools.py:3)")


def test_a_kernel_file_that_raises_is_reported_at_its_line_on_either_side(tmp_path):
    kernel = write_project(tmp_path, original="x = [][1]\n")
    assert str(refusal(tmp_path / "scale_case.py", kernel)).startswith(f"{kernel}:1:")
    error = refusal(tmp_path / "scale_case.py", kernel, "\n\ny = {}['k']\n")
    assert str(error).startswith(f"{kernel}[port]:3:")
    assert "KeyError: 'k'" in str(error)


def test_a_case_that_does_not_parse(tmp_path):
    kernel = write_project(tmp_path, case="def launch(:\n")
    error = refusal(tmp_path / "scale_case.py", kernel)
    assert (error.diagnostic.line, error.diagnostic.column) == (1, 12)
    assert "does not parse" in error.diagnostic.message


def test_a_case_that_exits_is_an_error_and_not_an_exit(tmp_path):
    kernel = write_project(tmp_path, case="import sys\nsys.exit(3)\n")
    assert "SystemExit: 3" in str(refusal(tmp_path / "scale_case.py", kernel))


@pytest.mark.parametrize(
    ("old", "new", "message", "named"),
    [
        ("def launch", "def start", "the case does not define launch", None),
        ("TOL = dict(atol=0.0, rtol=0.0)", "TOL = 1e-3", "TOL of the case is not dict", "TOL = 1e-3"),
        ("TOL = dict(atol=0.0", "TOL = dict(abs=0.0", "TOL of the case is not dict", "TOL = dict(abs=0.0, rtol=0.0)"),
        (
            "def reference(x, factor):",
            "reference = 3\n\n\ndef ref(x, factor):",
            "reference of the case",
            "reference = 3",
        ),
        ("TOL = dict", "seeds = 'all'\nTOL = dict", "seeds of the case is not", "seeds = 'all'"),
        ("COMPILE_SPECS = [\n", "COMPILE_SPECS = [\n    scale,\n", "COMPILE_SPECS of the case", "COMPILE_SPECS = ["),
    ],
)
def test_what_does_not_follow_the_protocol_is_named(tmp_path, old, new, message, named):
    case = edited(CASE, (old, new))
    kernel = write_project(tmp_path, case=case)
    error = refusal(tmp_path / "scale_case.py", kernel)
    assert error.diagnostic.code == "TP813"
    assert message in error.diagnostic.message
    assert error.diagnostic.line == (1 if named is None else case.splitlines().index(named) + 1)


def test_variants_go_to_make_inputs_or_replace_its_result(tmp_path):
    case = edited(
        CASE,
        ("seed=0):", "seed=0, n=300):"),
        ("torch.randn(300,", "torch.randn(n,"),
        ("def launch", "def variants():\n    yield dict(n=1)\n    yield dict(factor=2.0)\n\n\ndef launch"),
    )
    kernel = write_project(tmp_path, case=case)
    loaded = load_case(tmp_path / "scale_case.py", kernel)
    made = [loaded.inputs("cpu", 0, variant) for variant in loaded.variants("cpu", 0)]
    assert [(one["x"].numel(), one["factor"]) for one in made] == [(300, 0.3), (1, 0.3), (300, 2.0)]
