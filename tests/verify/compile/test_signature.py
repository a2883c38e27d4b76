"""Guessing what a kernel is launched with from its source text."""

import textwrap
from pathlib import Path

import pytest

from tritonport.verify.compile.kernels import find_kernels
from tritonport.verify.compile.signature import guess

HEAD = "import triton\nimport triton.language as tl\nfrom triton.experimental import gluon\n"


def only(source: str):
    (found,) = guess(HEAD + textwrap.dedent(source))
    return found


def test_pointers_scalars_and_constexprs() -> None:
    found = only("""
        @triton.jit
        def norm(x, W, out, rstd_ptr, stride, n_cols, eps, gain, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            x += row * stride
            cols = tl.arange(0, BLOCK)
            v = tl.load(x + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
            rstd = 1 / tl.sqrt(tl.sum(v * v) / n_cols + eps.to(tl.float32))
            tl.store(rstd_ptr + row, rstd)
            tl.store(out + row * stride + cols, v * rstd * gain * tl.load(W + cols), mask=cols < n_cols)
    """)
    assert found.signature == {
        "x": "*bf16",
        "W": "*bf16",
        "out": "*bf16",
        "rstd_ptr": "*fp32",
        "stride": "i32",
        "n_cols": "i32",
        "eps": "fp32",
        "gain": "fp32",
    }
    assert found.fallbacks == {"BLOCK": 1024}
    assert (found.problem, found.line) == (None, 6)


def test_a_loaded_index_makes_an_integer_pointer() -> None:
    found = only("""
        @triton.jit
        def gather(table, ids, out, lock, total, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            row = tl.load(ids + i)
            tl.store(out + i, tl.load(table + row * n))
            while tl.atomic_cas(lock, 0, 1) == 1:
                pass
            tl.atomic_add(total, 1.0)
            tl.atomic_xchg(lock, 0)
    """)
    assert found.signature == {
        "table": "*i32",
        "ids": "*i64",
        "out": "*bf16",
        "lock": "*i32",
        "total": "*fp32",
        "n": "i32",
    }


def test_the_launch_of_the_file_gives_values() -> None:
    found = only("""
        WIDTH = 512

        @triton.jit
        def scale(x, sx, y, bias, f, n, BLOCK: tl.constexpr, OP: tl.constexpr, HAS_BIAS: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(y + i, f * tl.load(x + i * sx, mask=i < n))

        def run(x, y):
            f = compute()
            scale[(1,)](x, x.stride(-1), y, None, 0.5, x.numel(), BLOCK=WIDTH, OP="relu", HAS_BIAS=False, num_warps=8)
    """)
    assert found.constexprs == {"sx": 1, "bias": None, "BLOCK": 512, "OP": "relu", "HAS_BIAS": False}
    assert found.signature == {"x": "*bf16", "y": "*bf16", "f": "fp32", "n": "i32"}
    assert found.num_warps == 8


def test_a_name_that_a_branch_left_none_is_a_tensor() -> None:
    found = only("""
        @triton.jit
        def k(x, w):
            tl.store(x, tl.load(w))

        def run(x, affine):
            w = None
            k[(1,)](x, w)
    """)
    assert found.signature == {"x": "*bf16", "w": "*bf16"}


def test_tiles_of_two_dimensions_are_smaller() -> None:
    found = only("""
        @triton.jit
        def k(x, n, BM: tl.constexpr, BLOCK_N: tl.constexpr, MODE: tl.constexpr, ON: tl.constexpr):
            i = tl.arange(0, BM)[:, None] * n + tl.arange(0, BLOCK_N)[None, :]
            if MODE == "sum":
                pass
            if ON:
                tl.store(x + i, 0.0)
    """)
    assert {name: found.fallbacks[name] for name in ("BM", "BLOCK_N", "MODE", "ON")} == {
        "BM": 64,
        "BLOCK_N": 64,
        "MODE": "sum",
        "ON": True,
    }


def test_a_constexpr_takes_a_value_that_the_kernel_knows() -> None:
    found = only("""
        LLAMA: tl.constexpr = tl.constexpr(3)
        MODES = ("rows", "cols")

        @triton.jit
        def k(x, casting_mode: tl.constexpr, axis: tl.constexpr, kind: tl.constexpr, other: tl.constexpr):
            if casting_mode == LLAMA:
                tl.store(x, 1)
            if axis in MODES:
                tl.store(x, 2)
            if "gelu" == kind:
                tl.store(x, 3)
            if other == LLAMA.value:
                tl.store(x, 4)
    """)
    assert found.fallbacks == {"casting_mode": 3, "axis": "rows", "kind": "gelu", "other": 64}


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("@triton.jit\ndef k(x, F: tl.constexpr):\n    tl.store(x, F(tl.load(x)))", "'F' is a function"),
        ("@triton.jit\ndef k(d):\n    d.store([0, 0], d.load([0, 0]))", "'d' is a tensor descriptor"),
        (
            "def make():\n    @triton.jit\n    def k(x):\n        tl.store(x, 1)\n    return k",
            "only a case can name it",
        ),
    ],
)
def test_what_cannot_be_guessed(source: str, problem: str) -> None:
    assert problem in (only(source).problem or "")


def test_kernels_under_any_import_name() -> None:
    text = """
import triton as tr, numba
from triton import jit as compile_it
from triton.experimental import gluon as g
from vllm.triton_utils import triton as vt

@tr.jit
def a(x): helper(x)

@compile_it
def b(x): pass

@g.jit
def c(x): pass

@vt.jit(do_not_specialize=["x"])
def d(x): pass

@numba.jit
def not_a_kernel(x): pass

@tr.jit
def helper(x): pass

class Norm:
    @staticmethod
    @tr.jit
    def kernel(x): pass

    def run(self, x):
        Norm.kernel[(1,)](x)
"""
    found = find_kernels(text)
    assert [(kernel.qualname, kernel.language) for kernel in found] == [
        ("a", "triton"),
        ("b", "triton"),
        ("c", "gluon"),
        ("d", "triton"),
        ("helper", "triton"),
        ("Norm.kernel", "triton"),
    ]
    assert [kernel.name for kernel in found if not kernel.is_entry] == ["helper"]
    assert len(found[-1].launches) == 1


def test_a_pointer_that_only_a_helper_reads_through() -> None:
    found = only("""
        @triton.jit
        def read(at, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            return tl.load(at + i, i < n)

        @triton.jit
        def kernel(x, labels, out_ptr, n, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            read(x + row * n, n, BLOCK)
            read(at=labels, n=n, BLOCK=BLOCK)
            other(out_ptr)
    """)
    assert found.signature == {"x": "*bf16", "labels": "*i64", "out_ptr": "*bf16", "n": "i32"}


def test_what_atomics_compare_is_fp32() -> None:
    found = only("""
        @triton.jit
        def kernel(top, x):
            tl.atomic_max(top, tl.load(x))
    """)
    assert found.signature == {"top": "*fp32", "x": "*bf16"}


def test_a_name_for_several_pointers_makes_each_of_them_one() -> None:
    found = only("""
        @triton.jit
        def kernel(v, v_new, offsets, n, BLOCK: tl.constexpr):
            v_new += tl.program_id(0) * n
            i = tl.arange(0, BLOCK)
            p = v + i
            value = tl.load(p)
            p = v_new + i
            tl.store(p, value + tl.load(offsets))
    """)
    assert found.signature == {"v": "*bf16", "v_new": "*bf16", "offsets": "*i32", "n": "i32"}


def test_a_tuple_that_a_helper_takes_apart() -> None:
    found = only("""
        @triton.jit
        def inner(x, i, j, strides):
            return tl.load(x + offset((i, i, j), strides))

        @triton.jit
        def kernel(x, out, STRIDES, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(out + i, inner(x, 0, i, STRIDES))
    """)
    assert found.constexprs == {"STRIDES": (64**2, 64, 1)}


def test_a_function_that_gives_something_back_is_no_kernel() -> None:
    source = HEAD + textwrap.dedent("""
        @triton.jit
        def relu(x):
            return tl.maximum(x, 0)

        @triton.jit
        def early(x):
            if tl.program_id(0) > 4:
                return
            tl.store(x, 0)

        @triton.jit
        def nothing(x):
            return None

        @triton.jit
        def launched(x):
            return x

        launched[(1,)](1)
    """)
    assert [found.kernel for found in guess(source)] == ["early", "nothing", "launched"]


def test_kernels_in_strings_are_found_with_their_lines_in_the_file() -> None:
    text = """import x

k = compiler.triton('k', '''
import triton


@triton.jit
def k(a_ptr):
    pass
''')
"""
    (kernel,) = find_kernels(text)
    assert (kernel.name, kernel.language, kernel.node.lineno) == ("k", "triton", 8)
    assert find_kernels(text, strings=False) == []


def test_tuples_are_the_strides_of_a_contiguous_tensor() -> None:
    found = only("""
        @triton.jit
        def copy(x, out, X_STRIDES, out_strides: tl.constexpr, MORE: tl.constexpr, shape, n, BLOCK: tl.constexpr):
            cols = tl.arange(0, BLOCK)
            value = tl.load(x + offset((tl.program_id(0), cols), X_STRIDES), mask=cols < n)
            tl.static_assert(len(MORE) == 3)
            tl.store(out + tl.program_id(0) * out_strides[0] + cols * out_strides[1], value, mask=cols < shape[0])

        def launch(x, out):
            out_strides = out.stride()
            copy[(1,)](x, out, x.stride(), out_strides=out_strides, MORE=other(x), shape=(8, 9, n), n=8)
    """)
    assert found.constexprs == {
        "X_STRIDES": (64, 1),
        "out_strides": (64, 1),
        "MORE": (64**3, 64**2, 64, 1),
        "shape": (64**2, 64, 1),
    }
    assert found.signature == {"x": "*bf16", "out": "*bf16", "n": "i32"}


def test_what_functions_of_other_files_do_with_a_parameter_counts(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "inner.py").write_text(
        HEAD
        + textwrap.dedent("""
        @triton.jit
        def start_of(starts, i):
            return tl.load(starts + i).to(tl.int64)

        @triton.jit
        def bounds(starts, values, i, n):
            return start_of(starts, i), tl.load(values + i, mask=i < n)
        """)
    )
    (tmp_path / "outer.py").write_text("from .inner import bounds\n")
    text = HEAD + textwrap.dedent("""
        from .outer import bounds as between

        @triton.jit
        def kernel(starts, values, out, n):
            start, value = between(starts, values, tl.program_id(0), n)
            tl.store(out + tl.program_id(0), value + start)
    """)
    (found,) = guess(text, str(tmp_path / "kernel.py"))
    assert found.signature == {"starts": "*bf16", "values": "*bf16", "out": "*bf16", "n": "i32"}
    (alone,) = guess(text)
    assert alone.signature["values"] == "fp32"
