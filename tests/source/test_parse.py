"""Files that are parsed by their functions have the trees, and the text, that libcst gives them."""

from pathlib import Path

import libcst as cst
import pytest

from tritonport.source.parse import parsed, printed
from tritonport.source.walk import walk

ROOT = Path(__file__).parents[2]
TEXTS = {
    "decorators": "import a\n\n\n@a.b(\n    c=1,\n)\n# above\n@d\n\ndef f(x):\n    return x\n\n\nf(1)\n",
    "comments above and below": "# head\n\n# of f\ndef f():\n    pass  # end\n\n# tail\nx = 1\n# last\n",
    "a comment behind the body": "def f():\n    pass\n    # still f\n# not f\nx = 1\n",
    "a space behind the body": "def f():\n    pass\n \nx = 1\n",
    "a comment at the margin inside": "def f():\n    a\n# inside\n    b\n\n\ndef g(): pass\n",
    "two of a text": "def f():\n    pass\ndef f():\n    pass\n\n\ndef f():\n    pass\n",
    "a decorator in parentheses": "@(\n    a\n)\ndef f():\n    pass\n",
    "text with a def in it": "x = '''\ndef f():\n    pass\n'''\n\n\ndef f():\n    '''a\nb'''\n    return (1,\n2)\n",
    "statements on a line": "a; b\ndef f(): c; d\ne; f\n",
    "two spaces": "def f():\n  pass\n\n\ndef g():\n  if a:\n    pass\n",
    "tabs": "def f():\n\tpass\n\n\nif a:\n\tdef g():\n\t\tpass\n",
    "indents of two kinds": "def f():\n  pass\ndef g():\n    pass\n",
    "no last newline": "def f():\n    pass",
    "other newlines": "def f():\r\n    pass\r\nx = 1\r\n",
    "form feeds": "def f():\n    pass\n\f\ndef g():\n    pass\n",
    "async and classes": "async def f():\n    pass\nclass A:\n    def f(self):\n        pass\ndef g(): ...\n",
    "blank lines at the end": "\n\ndef f():\n    pass\n\n\n",
    "nothing": "",
}
FILES = [ROOT / "fixtures" / name for name in ("matmul/expected/mma.py", "rope/rope.py", "inductor/inductor.py")]
FILES.append(ROOT / "tests" / "convert" / "helper_kernels.py")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_tree_and_the_text_are_those_of_libcst(text: str) -> None:
    for _ in range(2):
        parsed.cache_clear()
        tree = parsed(text)
        assert tree.deep_equals(cst.parse_module(text))
        assert printed(tree) == text
        nodes = list(walk(tree))
        assert len({id(node) for node in nodes}) == len(nodes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "-".join(path.relative_to(ROOT).with_suffix("").parts[1:]))
def test_files_are_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = parsed(text)
    assert tree.deep_equals(cst.parse_module(text))
    assert printed(tree) == text


def test_functions_of_an_earlier_text_are_not_parsed_again() -> None:
    first = parsed("x = 1\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n")
    second = parsed("y = 2\n# more\ndef f():\n    return 1\n\n\ndef g():\n    return 3\n")
    before, after = ([one for one in tree.body if isinstance(one, cst.FunctionDef)] for tree in (first, second))
    assert before[0].body is after[0].body and before[0] is not after[0]
    assert before[1].body is not after[1].body


def test_what_is_changed_is_printed_anew() -> None:
    tree = parsed("if a:\n    b\n\n\n# of f\ndef f():\n    return 1\n")
    function = cst.ensure_type(tree.body[1], cst.FunctionDef)
    renamed = function.with_changes(name=cst.Name("g"))
    assert printed(tree.with_changes(body=[renamed, function])) == (
        "\n\n# of f\ndef g():\n    return 1\n\n\n# of f\ndef f():\n    return 1\n"
    )
    # The indentation is that of the file that a function comes to.
    assert "\n  return 1" in printed(tree.with_changes(body=[function], default_indent="  "))


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(cst.ParserSyntaxError):
        parsed("def f(:\n    pass\n")
