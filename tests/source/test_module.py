"""What a file says: names, kernels, parameters, positions."""

from pathlib import Path

import libcst as cst
import pytest

from tritonport.report import InputError
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk

HEAD = "import triton\nimport triton.language as tl\n"


def module(text: str) -> SourceModule:
    return SourceModule(text, "kernel.py")


def names(text: str, expression: str) -> list[str]:
    return module(text).qualified_names(cst.parse_expression(expression))


@pytest.mark.parametrize(
    ("text", "expression", "qualified"),
    [
        ("import triton", "triton.language.load", ["triton.language.load"]),
        ("import triton.language", "triton.language.load", ["triton.language.load"]),
        ("import triton.language as tl", "tl.load", ["triton.language.load"]),
        ("import triton as tt", "tt.language.load", ["triton.language.load"]),
        ("from triton import language as T", "T.load", ["triton.language.load"]),
        ("from triton.language import load", "load", ["triton.language.load"]),
        ("from triton.language import load as ld", "ld", ["triton.language.load"]),
        (
            "from triton.language.extra.cuda.libdevice import tanh",
            "tanh",
            ["triton.language.extra.cuda.libdevice.tanh"],
        ),
        ("import triton\ntl = triton.language", "tl.load", ["triton.language.load"]),
        ("import triton.language as tl\nld = tl.load\nagain = ld", "again", ["triton.language.load"]),
        ("from .utils import tl", "tl.load", [".utils.tl.load"]),
        ("from . import utils as u", "u.tl", [".utils.tl"]),
        ("try:\n    import a.x as x\nexcept ImportError:\n    import b.x as x", "x.f", ["a.x.f", "b.x.f"]),
        ("if a:\n    from b import c\nelse:\n    from d import c", "c", ["b.c", "d.c"]),
        ("def f():\n    import triton.language as tl", "tl.load", []),
        ("tl = tl", "tl.load", []),
        ("import triton", "load", []),
        ("import triton", "triton[0].load", []),
    ],
)
def test_what_a_name_means(text: str, expression: str, qualified: list[str]) -> None:
    assert names(text, expression) == qualified


def kernels(text: str) -> list[tuple[str, str]]:
    return [(kernel.qualified, kernel.language) for kernel in module(HEAD + text).kernels]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(x): pass", []),
        ("@triton.jit\ndef f(x): pass", [("f", "triton")]),
        ("@triton.jit(debug=True)\ndef f(x): pass", [("f", "triton")]),
        ("from triton import jit as J\n@J\ndef f(x): pass", [("f", "triton")]),
        ("jit = triton.jit\n@jit\ndef f(x): pass", [("f", "triton")]),
        ("@triton.autotune([], [])\n@triton.heuristics({})\n@triton.jit\ndef f(x): pass", [("f", "triton")]),
        ("from triton.experimental import gluon\n@gluon.jit\ndef f(x): pass", [("f", "gluon")]),
        ("@other.jit\ndef f(x): pass", []),
        ("def g(x): pass\nf = triton.jit(g)", [("g", "triton")]),
        ("def g(x): pass\nf = triton.jit(do_not_specialize=['x'])(g)", [("g", "triton")]),
        ("def g(x): pass\nf = triton.autotune([], [])(triton.jit(g))", [("g", "triton")]),
        ("def g(x): pass\ng = triton.jit(g)\ng = triton.heuristics({})(g)", [("g", "triton")]),
        ("def g(x): pass\nif SLOW:\n    f = triton.jit(g)\nelse:\n    f = None", [("g", "triton")]),
        ("def g(x): pass\nkernels = {'g': triton.jit(g)}", [("g", "triton")]),
        ("def g(x): pass\ndef make():\n    return triton.jit(g)", [("g", "triton")]),
        ("def g(x): pass\nf = triton.cdiv(g)", []),
        ("class A:\n    @staticmethod\n    @triton.jit\n    def f(x): pass", [("A.f", "triton")]),
        ("def make():\n    @triton.jit\n    def f(x): pass\n    return f", [("make.f", "triton")]),
        ("if 1:\n    @triton.jit\n    def f(x): pass\nelse:\n    f = 0", [("f", "triton")]),
        ("try:\n    pass\nfinally:\n    @triton.jit\n    def f(x): pass", [("f", "triton")]),
        ("with a:\n    for b in c:\n        @triton.jit\n        def f(x): pass", [("f", "triton")]),
    ],
)
def test_which_functions_are_kernels(text: str, found: list[tuple[str, str]]) -> None:
    assert kernels(text) == found


def test_parameters() -> None:
    text = f"{HEAD}C = tl.constexpr\n@triton.jit\n"
    text += "def f(a, /, b: tl.tensor, c: tl.constexpr = 3, *, d: 'tl.constexpr', e: C = None, **g): pass\n"
    (kernel,) = module(text).kernels
    assert [(p.name, p.constexpr, p.star) for p in kernel.parameters] == [
        ("a", False, ""),
        ("b", False, ""),
        ("c", True, ""),
        ("d", True, ""),
        ("e", True, ""),
        ("g", False, "**"),
    ]
    assert [isinstance(p.default, cst.Integer) for p in kernel.parameters][:3] == [False, False, True]


PLACES = '''"""Text."""


# note
@triton.jit
# between
def f(
    x,
):
    y = tl.load(x)


class A:
    @triton.jit
    def g(x):
        tl.store(x, 1)
'''


def test_positions_are_those_of_the_file() -> None:
    text = HEAD + PLACES
    source = module(text)
    places = {}
    for kernel in source.kernels:
        for node in walk(kernel.node):
            if isinstance(node, cst.Call):
                places[source.tree.code_for_node(node)] = source.position(node)
    lines = text.split("\n")
    for call, (line, column) in places.items():
        assert lines[line - 1][column - 1 :].startswith(call)
    assert set(places) == {"tl.load(x)", "tl.store(x, 1)"}
    assert [lines[source.line_of(kernel) - 1].strip() for kernel in source.kernels] == ["def f(", "def g(x):"]
    assert source.position(cst.Name("elsewhere")) == (1, 1)


def test_kernels_in_classes_are_found_by_path() -> None:
    source = module(HEAD + "class A:\n    @triton.jit\n    def f(x): pass\n    @triton.jit\n    def g(x): pass\n")
    f, g = source.kernels
    assert source.kernel_by_path("A.f", g) is f
    assert source.kernel_by_path("cls.f", g) is f and source.kernel_by_path("self.g", f) is g
    assert source.kernel_by_path("B.f", g) is None and source.kernel_by_path("f", g) is None


@pytest.mark.parametrize(("text", "line"), [("def f(:\n    pass\n", 1), ("x = 1\ny = (\n", 2), ("x = 1\n  y = 2\n", 2)])
def test_a_file_that_is_not_python(text: str, line: int) -> None:
    with pytest.raises(InputError) as refused:
        module(text)
    assert (refused.value.diagnostic.code, refused.value.diagnostic.line) == ("TP001", line)
    assert refused.value.diagnostic.path == "kernel.py"


def test_dotted_paths() -> None:
    assert dotted(cst.parse_expression("a.b.c")) == "a.b.c"
    assert dotted(cst.parse_expression("a().b")) is None


def test_a_walk_visits_code_and_no_spaces() -> None:
    tree = cst.parse_module("# note\nx = f(a , b)  # end\n")
    found = [type(node).__name__ for node in walk(tree)]
    assert [node.value for node in walk(tree) if isinstance(node, cst.Name)] == ["x", "f", "a", "b"]
    assert "Comment" not in found and "SimpleWhitespace" not in found


def test_a_relative_import_takes_what_the_package_calls_by_the_name(tmp_path: Path) -> None:
    """`from .. import act` is the package's own `act`, which may come from anywhere."""
    package = tmp_path / "relative"
    (package / "ops").mkdir(parents=True)
    (package / "ops" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("from .math import twice as act\n")
    (package / "math.py").write_text("import triton\n\n@triton.jit\ndef twice(x):\n    return x * 2\n")
    (package / "other.py").write_text("")
    text = "from .. import act, other\n"

    module = SourceModule(text, str(package / "ops" / "use.py"))

    assert [(one.kind, one.qualified) for one in module.lookup("act")] == [("kernel", "relative.math.twice")]
    assert [(one.kind, one.qualified) for one in module.lookup("other")] == [("module", "relative.other")]
