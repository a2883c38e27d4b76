"""Kernel source in strings."""

import ast

import pytest

from tritonport.source.embedded import embedded_modules, launch_facts, with_text
from tritonport.source.module import SourceModule

MODULE = """
import triton

@triton.jit
def k(x): pass
"""


def test_where_a_string_stands() -> None:
    text = f"é = 1\nk = async_compile.triton('k', '''{MODULE}''', device_str='cuda')\n"
    (found,) = embedded_modules(text)
    assert (found.name, found.text, found.line) == ("k", MODULE, 2)
    assert text[found.start : found.end] == f"'''{MODULE}'''"


@pytest.mark.parametrize("line", ["exec('''{}''')", "x = '''{}'''", "source('k', '''{}''')", "a.triton('''{}''')"])
def test_other_strings_are_left(line: str) -> None:
    assert embedded_modules(line.format(MODULE)) == []


@pytest.mark.parametrize("literal", ["'''old'''", '"""old"""', "r'''old'''", "'old'", '"old"'])
@pytest.mark.parametrize(
    "text", ["a\nb\n", "say '''x''' and \"\"\"y\"\"\"", "a\\nb", "ends with '", 'ends with "', "\\"]
)
def test_a_literal_keeps_its_quotes(literal: str, text: str) -> None:
    written = with_text(literal, text)
    assert ast.literal_eval(written) == text
    assert written[-1] == literal[-1]


def test_what_torch_says_of_the_arguments() -> None:
    text = (
        "import triton\n@heuristics(triton_meta={'signature': {'p': '*bf16', 'n': 'i32', 'one': 'constexpr'}, "
        "'device': f(1), 'constants': {'one': 1}})\n@triton.jit\ndef k(p, n, one): pass\n"
    )
    facts = launch_facts(SourceModule(text, "<text>").kernels[0])
    assert facts.types == {"p": "*bf16", "n": "i32", "one": "constexpr"}
    assert facts.constants == {"one": 1}
    assert facts.integers == {"n"}
