"""Whole files: what stays byte for byte, every spelling of imports and decorators, and where kernels may stand."""

from pathlib import Path

import pytest

from tests.convert.kernels import assert_same_numbers, convert, ported

HEAD = "import triton\nimport triton.language as tl\n\n\n"
BODY = "    offs = tl.arange(0, BLOCK)\n    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + 1)\n"
KERNEL = "@triton.jit\ndef kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):\n" + BODY
FILE = HEAD + KERNEL


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


# -- nothing to do


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "# only a comment, without an end",
        "import triton\nimport triton.language as tl\n\nx = tl.float32\n\n\ndef f(x):\n    return tl.load(x)\n",
        "import torch\r\n\r\n\r\ndef f( x ):\r\n\treturn (x  ,)\r\n",
        "'''tl.load'''\n\f\nclass A:\n  x=1 ;  y = 2  # two\n",
        "from other import triton\n@triton.jit\ndef f(x): pass\n",
    ],
)
def test_a_file_without_kernels_stays_as_it_is(text: str) -> None:
    conversion = convert(text)
    assert (conversion.text, conversion.kernels, conversion.diagnostics) == (text, (), ())


def test_a_gluon_file_stays_as_it_is() -> None:
    text = "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n\n\n"
    text += (
        "@gluon.jit\ndef kernel(x_ptr, layout: gl.constexpr):\n    gl.load(x_ptr + gl.arange(0, 64, layout=layout))\n"
    )
    conversion = convert(text)
    assert conversion.text == text and conversion.diagnostics == ()
    assert [(outcome.name, outcome.line, outcome.status) for outcome in conversion.kernels] == [
        ("kernel", 6, "already")
    ]


def test_a_kernel_that_is_left_stays_as_it_is_and_its_neighbour_is_converted() -> None:
    left = KERNEL.replace("def kernel", "def left").replace("+ 1", "+ unknown(offs)")
    conversion = convert(HEAD + left + "\n\n" + KERNEL)
    assert left in conversion.text
    assert [(outcome.name, outcome.line, outcome.status) for outcome in conversion.kernels] == [
        ("left", 6, "left"),
        ("kernel", 12, "converted"),
    ]
    (found,) = conversion.diagnostics
    assert (found.code, found.line, found.column, found.kernel) == ("TP102", 8, 54, "left")
    assert "import triton.language as tl\n" in conversion.text
    assert convert(HEAD + left).text == HEAD + left


def test_only_the_named_kernels_are_converted() -> None:
    text = FILE + "\n\n" + KERNEL.replace("def kernel", "def other")
    conversion = convert(text, kernels=frozenset({"other"}))
    assert [(outcome.name, outcome.status) for outcome in conversion.kernels] == [
        ("kernel", "skipped"),
        ("other", "converted"),
    ]
    assert KERNEL in conversion.text and "@gluon.jit\ndef other(" in conversion.text


def test_a_helper_that_a_triton_kernel_needs_is_kept_beside_its_port() -> None:
    helper = "@triton.jit\ndef act(x):\n    return tl.maximum(x, 0)\n\n\n"
    uses = KERNEL.replace("tl.load(x_ptr + offs) + 1", "act(tl.load(x_ptr + offs))")
    text = HEAD + helper + uses + "\n\n" + uses.replace("def kernel", "def other")
    port = convert(text, kernels=frozenset({"other"})).text
    assert helper in port and uses in port
    assert "@gluon.jit\ndef act_gluon(x):\n    return gl.maximum(x, 0)\n" in port
    assert "gl.store(out_ptr + offs, act_gluon(gl.load(x_ptr + offs)))\n" in port


# -- the text around kernels


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_endings_stay(newline: str, tmp_path: Path) -> None:
    text = FILE.replace("\n", newline)
    port = ported(text)
    assert port.count(newline) == len(port.splitlines())
    assert port.replace(newline, "\n") == ported(FILE)
    assert_same_numbers(text, tmp_path)


@pytest.mark.parametrize("indent", ["\t", "  ", "   \t"])
def test_indentation_stays(indent: str, tmp_path: Path) -> None:
    port = ported(FILE.replace("    ", indent))
    assert f"\n{indent}offs = gl.arange(0, BLOCK, layout=layout)\n{indent}gl.store(" in port
    assert f"\n{indent}layout: gl.constexpr = coalesced([BLOCK]" in port
    assert_same_numbers(FILE.replace("    ", indent), tmp_path)


HOST = '''#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""Größe, 数据: tl.load stays here."""

from   os import path ;import sys
import triton, torch

import triton.language as tl

X = { "a":1,
      'b' : [ 2,3 ] }   # two spaces
\f
def host( x ):   # tl.load
\treturn tl.float32 if x else \\
\t    None


%s

if True: pass
class  A ( object ) :
    """tl.store"""
    def run(self): kernel[(1,)](X, x_ptr = 1)
# the end'''


def test_everything_around_a_kernel_stays_byte_for_byte() -> None:
    before, after = HOST.split("%s")
    port = ported(HOST % KERNEL)
    assert port.endswith(after) and "\n\n\n@gluon.jit\ndef kernel(" in port
    added = "# tritonport: stage literal, Triton 3.6 to 3.9\nfrom triton.experimental import gluon\n"
    added += "from triton.experimental.gluon import language as gl\n"
    head = before.replace("import triton.language as tl\n", f"import triton.language as tl\n{added}")
    assert port.startswith(head)


COMMENTS = (
    HEAD
    + """# before
@triton.jit
# between
def kernel(  # open
    x_ptr, out_ptr,
    # size
    BLOCK: tl.constexpr,
):  # colon
    # first

    offs = (  # paren
        tl.arange(  # call
            0,  # zero
            BLOCK,  # block
        )
    )  # end

    # lone comment

    x = tl.load(
        x_ptr + offs,
        # no mask
    ) \\
        + 1
    tl.store(out_ptr + offs, x)  # last

    # after
# dedented
"""
)


def test_comments_and_line_breaks_in_a_kernel_stay(tmp_path: Path) -> None:
    port = ported(COMMENTS)
    assert (
        port[port.index("# before") :]
        == """# before
@gluon.jit
# between
def kernel(  # open
    x_ptr, out_ptr,
    # size
    BLOCK: gl.constexpr,
):  # colon
    layout: gl.constexpr = coalesced([BLOCK], element_bits(x_ptr, out_ptr), [0], gl.num_warps())
    # first

    offs = (  # paren
        gl.arange(  # call
            0,  # zero
            BLOCK,  # block
            layout=layout,
        )
    )  # end

    # lone comment

    x = gl.load(
        x_ptr + offs,
        # no mask
    ) \\
        + 1
    gl.store(out_ptr + offs, x)  # last

    # after
# dedented
"""
    )
    assert_same_numbers(COMMENTS, tmp_path)


# -- imports and aliases, decorators, places

SPELLINGS = {
    "no end of line": FILE.rstrip("\n"),
    "a byte order mark": "\ufeff" + FILE,
    "a form feed": HEAD + "\f\n" + KERNEL,
    "names that are not ASCII": HEAD + KERNEL.replace("offs", "größe"),
    "one line": HEAD + "@triton.jit\ndef kernel(x_ptr, out_ptr, BLOCK: tl.constexpr): "
    "tl.store(out_ptr + tl.arange(0, BLOCK), tl.load(x_ptr + tl.arange(0, BLOCK)))  # all\n",
    "a helper on one line": HEAD
    + "@triton.jit\ndef act(x, S: tl.constexpr): return x + tl.arange(0, S)\n\n\n"
    + KERNEL.replace("tl.load(x_ptr + offs) + 1", "act(tl.load(x_ptr + offs), BLOCK)"),
    "kernels without a statement": HEAD
    + '@triton.jit\ndef a(x):\n    """Text."""\n\n\n@triton.jit\ndef b(x): pass\n\n\n'
    + KERNEL,
    "jit by name": "import triton\nfrom triton import jit\nfrom triton import language as tl\n\n\n"
    + KERNEL.replace("triton.jit", "jit"),
    "functions by name": "import triton\nfrom triton.language import load, store, arange, constexpr\n\n\n"
    + KERNEL.replace("tl.", ""),
    "other names": "import triton as tt\nimport triton.language as T\nfrom triton.language import load as ld\n\n\n"
    + KERNEL.replace("@triton", "@tt").replace("tl.load", "ld").replace("tl.", "T."),
    "the full path": "import triton\nimport triton.language\n\n\n" + KERNEL.replace("tl.", "triton.language."),
    "an alias of the module": "import triton\n\ntl = triton.language\n\n\n" + KERNEL,
    "aliases of functions": HEAD
    + "_load = tl.load\njit = triton.jit\n\n\n"
    + KERNEL.replace("tl.load", "_load").replace("triton.jit", "jit"),
    "a guarded import": "import triton\ntry:\n    import triton.language as tl\nexcept ImportError:\n    pass\n\n\n"
    + KERNEL,
    "annotations as text": HEAD + KERNEL.replace("tl.constexpr)", '"tl.constexpr")'),
    "annotations of the future": "from __future__ import annotations\n\n" + FILE,
    "a comma at the end": HEAD
    + KERNEL.replace("x_ptr, out_ptr, BLOCK: tl.constexpr", "\n    x_ptr,\n    out_ptr,\n    BLOCK: tl.constexpr,\n"),
    "constants of the module": HEAD
    + "N: tl.constexpr = tl.constexpr(64)\nM = tl.constexpr(2)\n\n\n"
    + KERNEL.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr = N").replace("+ 1", "* M").replace("BLOCK)", "N)"),
    "in an if": HEAD + "if True:\n" + indented(KERNEL) + "else:\n    kernel = None\n",
    "in a try": HEAD + "try:\n" + indented(KERNEL) + "except ImportError:\n    kernel = None\n",
    "in a class": HEAD + "class Ops:\n    @staticmethod\n" + indented(KERNEL) + "\n\nkernel = Ops.kernel\n",
    "in a factory": HEAD
    + "def make(scale):\n"
    + indented(KERNEL.replace("+ 1", "* scale"))
    + "    return kernel\n\n\nkernel = make(tl.constexpr(3))\n",
    "a call of jit": HEAD
    + KERNEL.replace("@triton.jit\n", "").replace("def kernel", "def _kernel")
    + "\n\nkernel = triton.jit(_kernel)\n",
    "a call of jit with options": HEAD
    + KERNEL.replace("@triton.jit\n", "").replace("def kernel", "def _kernel")
    + "\n\nkernel = triton.jit(do_not_specialize=[0])(_kernel)\n",
    "a call of jit in a call of autotune": HEAD
    + KERNEL.replace("@triton.jit\n", "").replace("def kernel", "def _kernel")
    + '\n\nkernel = triton.autotune([triton.Config({"BLOCK": 64})], key=[])(triton.jit(_kernel))\n',
    "a call of jit whose name is assigned again": HEAD
    + KERNEL.replace("@triton.jit\n", "")
    + "\n\nkernel = triton.jit(kernel)\n"
    + 'kernel = triton.autotune([triton.Config({"BLOCK": 64})], key=[])(kernel)\n',
    "a call of jit in a dictionary": HEAD
    + KERNEL.replace("@triton.jit\n", "").replace("def kernel", "def _kernel")
    + '\n\nkernels = {"first": triton.jit(_kernel)}\nkernel = kernels["first"]\n',
    "jit with options": HEAD + KERNEL.replace("@triton.jit", "@triton.jit(do_not_specialize=[0], debug=True)"),
    "the same name twice": FILE + "\n\n" + KERNEL.replace("+ 1", "+ 2"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_converted_and_computes_the_same(name: str, tmp_path: Path) -> None:
    port = ported(SPELLINGS[name])
    assert "gluon.jit" in port and "@triton.jit" not in port
    assert_same_numbers(SPELLINGS[name], tmp_path)


TUNED = (
    HEAD
    + """@triton.autotune(
    # configs
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128) for w in [4]],  # two
    key=["n"],
)
# heuristics next
@triton.heuristics({"EVEN": lambda a: a["n"] % a["BLOCK"] == 0})
@triton.jit(do_not_specialize=["n"])  # jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out_ptr + offs, tl.load(x_ptr + offs) + 1)
    else:
        tl.store(out_ptr + offs, tl.load(x_ptr + offs, offs < n) + 1, offs < n)
"""
)


def test_decorators_keep_their_order_and_text(tmp_path: Path) -> None:
    port = ported(TUNED)
    decorators = TUNED[TUNED.index("@triton.autotune") : TUNED.index("def kernel")]
    assert decorators.replace("@triton.jit", "@gluon.jit") in port
    assert_same_numbers(TUNED, tmp_path)


def test_foreign_decorators_stay(tmp_path: Path) -> None:
    text = HEAD + "def deco(a):\n    return lambda f: f\n\n\n@deco(tl.float32)\n" + KERNEL + ""
    assert "@deco(tl.float32)\n@gluon.jit\ndef kernel(" in ported(text)
    assert_same_numbers(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (FILE, False),
        (FILE + "\nDTYPE = tl.float32\n", True),
        (FILE.replace("import triton.language as tl", "from triton import cdiv, language as tl"), False),
    ],
)
def test_an_import_of_triton_language_goes_where_nothing_uses_it(text: str, kept: bool) -> None:
    port = ported(text)
    assert ("import triton.language as tl\n" in port) == kept and "cdiv, language" not in port
    assert ("cdiv" in port) == ("cdiv" in text)


def test_what_a_port_needs_is_imported_before_its_first_kernel(tmp_path: Path) -> None:
    # Two files put together, as people paste them.
    second = KERNEL.replace("kernel(", "other_kernel(")
    text = FILE + "\n\n" + HEAD + second
    port = ported(text)
    assert port.index("import gluon") < port.index("gluon.constexpr_function") < port.index("def kernel(")
    assert port.count("import gluon") == 1
    for name in ("kernel", "other_kernel"):
        assert_same_numbers(text, tmp_path, name)
