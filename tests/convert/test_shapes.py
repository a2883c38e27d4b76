"""Permutations, reshapes, joins and splits: the port leaves the original's bits and moves no more data."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest
import triton.language as tl

from tests.convert.kernels import VERSION, assert_compiles_as_well, assert_same_numbers, convert, kernel_text, ported

SOURCE = (Path(__file__).parent / "shape_kernels.py").read_text(encoding="utf-8")
FUNCTIONS = {node.name: node for node in ast.parse(SOURCE).body if isinstance(node, ast.FunctionDef)}
# Triton has `squeeze` and `unsqueeze` from 3.7 on.
ABSENT: set[str] = set() if hasattr(tl, "squeeze") else {"dimensions_of_one"}
NAMES = [name for name in FUNCTIONS if name not in {"turn", *ABSENT}]
# `permutations` stores 64 elements in three orders: they are converted here, and not by the compiler.
HEAD = SOURCE[SOURCE.index("import triton") : SOURCE.index("\n\n\n@triton.jit")]


def text_of(name: str) -> str:
    """A file with one of the kernels, as `kernel`, and the helper it calls."""
    needed = ["turn", name] if name == "helpers" else [name]
    parts = [f"@triton.jit\n{ast.get_source_segment(SOURCE, FUNCTIONS[part])}\n" for part in needed]
    return "\n\n\n".join([HEAD, *parts]).replace(f"def {name}(", "def kernel(")


@pytest.mark.parametrize("name", NAMES)
def test_the_port_computes_the_same_bits(name: str, tmp_path: Path) -> None:
    assert_same_numbers(text_of(name), tmp_path)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "permutations"])
def test_the_port_compiles_as_well(name: str, tmp_path: Path) -> None:
    assert_compiles_as_well(text_of(name), tmp_path)


def test_a_transposed_tile_keeps_its_layout() -> None:
    """No conversion: the layout of the result is the permuted one, and indices are made in it."""
    body = """
        m, n = tl.arange(0, BM), tl.arange(0, BN)
        x = tl.load(x_ptr + m[:, None] * BN + n[None, :])
        y = x.T * n[:, None]
        tl.store(out_ptr + m[None, :] * BN + n[:, None], y)
    """
    text = ported(kernel_text(dedent(body), "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr"))
    assert "convert_layout" not in text
    assert "permuted(" in text


def test_pairs_that_are_split_and_joined_again_are_read_as_pairs() -> None:
    text = ported(text_of("helpers"), VERSION)
    kernel = text[text.index("def kernel") :]
    assert "convert_layout" not in kernel


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("y = tl.trans(x)", "TP203"),
        ("y = x.T", "TP203"),
        ("y = tl.permute(x, (0, 1))", "TP203"),
        ("y = tl.reshape(x, n)", "TP201"),
        ("y = tl.split(x)", "TP203"),
        ("y = tl.join(n, n)", "TP203"),
        ("y = tl.cat(x, x, dim=2)", "TP203"),
    ],
)
def test_what_is_refused(statement: str, code: str) -> None:
    body = f"x = tl.load(x_ptr + tl.arange(0, BLOCK))\n{statement}\ntl.store(out_ptr, n)"
    found = convert(kernel_text(body, "x_ptr, out_ptr, n, BLOCK: tl.constexpr"))
    assert [diagnostic.code for diagnostic in found.diagnostics] == [code]
    assert [kernel.status for kernel in found.kernels] == ["left"]
