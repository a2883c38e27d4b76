"""Stage mma: which left operands in registers a dot under way may have."""

import libcst as cst
import pytest

from tritonport.source.module import SourceModule
from tritonport.source.walk import walk
from tritonport.upgrade.mma.deferred import tiles_of
from tritonport.upgrade.mma.rings import LoopText
from tritonport.upgrade.mma.spelling import Dot, FileReader

KERNEL = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(a_ptr, a, b, n, layout: gl.constexpr):
    acc = gl.zeros([64, 64], dtype=gl.float32, layout=layout)
    scores = acc
    weights = acc.to(gl.float16)
    for i in range(n):
LINES
        acc = dot(LEFT, b, acc)
        weights = gl.exp(scores).to(gl.float16)
"""
IN = "\n            "
ELSE = f"\n        else:{IN}"
SCORES = "scores = dot_new(a, b, layout)"


def tiles(left: str, *lines: str, ends: bool = False) -> list[object] | None:
    body = "\n".join(f"        {line}" for line in lines) or "        pass"
    module = SourceModule(KERNEL.replace("LINES", body).replace("LEFT", left), "kernel.py")
    function = module.kernels[0].node
    assert isinstance(function.body, cst.IndentedBlock)
    place, node = next((at, one) for at, one in enumerate(function.body.body) if isinstance(one, cst.For))
    loop = LoopText(function, tuple(function.body.body), place, node, node, FileReader(module, "sm_90", "3.9"))
    at = len(loop.body) - 2
    call = next(one for one in walk(loop.body[at]) if isinstance(one, cst.Call))
    found = tiles_of(loop, Dot(call, at, "acc", call.args[0].value, call.args[1].value, "acc", "dot_started"), ends)
    return None if found is None else list(found)


@pytest.mark.parametrize(
    ("left", "lines"),
    [
        ("scores.to(gl.float16)", [SCORES]),
        ("p", [SCORES, "p = gl.exp(scores)", "p = p.to(gl.float16)"]),
        ("(p * scores).to(gl.float16)", ["p = gl.load(a_ptr)", SCORES]),
        (
            "p.to(b.dtype)",
            [SCORES, "scores += gl.load(a_ptr)", f"if n > 3:{IN}p = scores * 2\n        else:{IN}p = scores"],
        ),
        ("p.to(b.dtype)", [SCORES, "p = scores * 2", f"if n > 3:{IN}p = p - 1"]),
    ],
)
def test_what_another_dot_of_the_iteration_gives_has_been_read_by_its_next_result(left: str, lines: list[str]) -> None:
    assert tiles(left, *lines) == []


@pytest.mark.parametrize(
    ("left", "lines"),
    [
        ("(p * 2).to(gl.float16)", ["p = gl.load(a_ptr)"]),  # read anew by each iteration
        ("weights.to(gl.float16)", [SCORES]),  # of the iteration before, and written behind the dot
        ("p", [SCORES, "p = scores * 2", "p = gl.load(a_ptr)"]),  # what a dot gave is in it no more
        ("p.to(scores.dtype)", [SCORES, "p = gl.load(a_ptr)"]),
        ("p.to(b.dtype)", [SCORES, f"if n > 3:{IN}p = scores * 2{ELSE}p = gl.load(a_ptr)"]),
        ("p.to(b.dtype)", ["p = gl.load(a_ptr)", SCORES, f"if n > 3:{IN}p = scores"]),
        ("p.to(b.dtype)", [SCORES, f"for j in range(n):{IN}p = scores"]),  # which may run no iteration
    ],
)
def test_other_registers_may_be_written_while_the_dot_reads_them(left: str, lines: list[str]) -> None:
    assert tiles(left, *lines) is None
    assert tiles(left, *lines, ends=True) == []


def test_what_no_iteration_changes_is_no_tile_and_stays() -> None:
    assert tiles("a") == []
