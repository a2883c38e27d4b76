"""Offline compiles of real kernels: what they use, and how failures are reported."""

import os
import time
from pathlib import Path

import pytest

pytest.importorskip("triton")

from tests.verify.compile import kernels
from tritonport.verify.compile import CompileError, SpecError, compile_kernel, compile_specs, complete
from tritonport.verify.compile.resources import CompileFailure, Resources

BF16_ADD = {"x_ptr": "*bf16", "y_ptr": "*bf16", "out_ptr": "*bf16", "n": "i32"}
SOURCE = Path(kernels.__file__)


def line_of(text: str) -> int:
    """The line of the test kernels that holds `text`."""
    return next(i for i, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


def add(kind: str, block: int, fn=kernels.add, **more):
    signature = {name: kind.join(("*", "")) if name != "n" else "i32" for name in BF16_ADD}
    return compile_kernel({"fn": fn, "signature": signature, "constexprs": {"BLOCK": block}, **more}, "sm_90")


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"])
def test_add_for_every_target(target: str) -> None:
    found = compile_kernel({"fn": kernels.add, "signature": BF16_ADD, "constexprs": {"BLOCK": 1024}}, target)
    assert (found.language, found.target, found.num_warps) == ("triton", target, 4)
    assert (found.load_widths, found.store_widths, found.atomic_widths) == ((16, 16), (16,), ())
    assert (found.conversions, found.conversions_in_loops, found.spills, found.stack) == (0, 0, 0, 0)
    assert (found.shared, found.barriers, found.mma) == (0, 0, {})
    assert 16 <= found.registers <= 32
    assert f".target sm_{target[3:]}" in found.ptx
    assert f"cuda:{target[3:]}" in found.ttgir


def test_widths_follow_the_element_type_and_the_block() -> None:
    assert add("fp32", 1024).load_widths == (16, 16)
    assert add("i8", 1024).load_widths == (8, 8)  # 8 elements a thread
    assert add("i8", 128).load_widths == (1, 1)
    assert add("fp64", 256).store_widths == (16,)


def test_an_access_of_several_vectors_is_one_access() -> None:
    found = add("fp32", 2048)
    assert found.load_widths == (16, 16)
    assert [(one.kind, one.instructions, one.bytes_per_thread) for one in found.accesses] == [
        ("load", 4, 64),
        ("load", 4, 64),
        ("store", 4, 64),
    ]
    assert {one.line for one in found.accesses} == {
        line_of("tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask)")
    }


def test_a_size_that_may_be_odd_ends_vector_access() -> None:
    pointers = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    assert add("bf16", 1024, attrs=pointers).load_widths == (2, 2)
    assert add("bf16", 1024, attrs={}).load_widths == (2, 2)
    assert add("bf16", 1024).load_widths == (16, 16)


def test_gluon_twin_has_the_same_table() -> None:
    original, twin = add("bf16", 1024), add("bf16", 1024, fn=kernels.add_twin)
    assert twin.language == "gluon"
    assert (twin.load_widths, twin.store_widths) == (original.load_widths, original.store_widths)
    assert twin.registers == original.registers


def test_transpose_has_one_conversion() -> None:
    signature = {"in_ptr": "*fp32", "out_ptr": "*fp32", "rows": "i32", "cols": "i32"}
    spec = {"fn": kernels.transpose, "signature": signature, "constexprs": {"BM": 32, "BN": 32}}
    found = compile_kernel(spec, "sm_90")
    assert (found.conversions, found.conversions_in_loops) == (1, 0)
    (conversion,) = found.moving
    assert conversion.tensor == "32x32xf32"
    assert conversion.line == line_of("tl.store(out_ptr + n[None, :] * rows + m[:, None], tile)")
    assert conversion.source != conversion.destination
    assert "BlockedLayout(" in conversion.source
    assert (found.load_widths, found.store_widths) == ((16,), (16,))
    assert found.shared >= 32 * 32 * 4


def test_conversions_in_loops_and_free_ones() -> None:
    signature = {"in_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    spec = {"fn": kernels.conversions, "signature": signature, "constexprs": {"BLOCK": 512, "STEPS": 2}}
    found = compile_kernel(spec, "sm_90")
    assert found.free_conversions == 1
    assert [(one.in_loop, one.line) for one in found.moving] == [
        (False, line_of("total = gl.convert_layout(y, narrow)")),
        (True, line_of("z = gl.convert_layout(gl.load(")),
    ]


def test_num_stages_of_the_loop_counts_only_as_launched() -> None:
    signature = {"in_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    spec = {"fn": kernels.pipelined, "signature": signature, "constexprs": {"BLOCK": 1024}}
    plain, launched = compile_kernel(spec, "sm_90"), compile_kernel(spec, "sm_90", as_launched=True)
    assert (plain.widths("load"), plain.widths("async"), plain.shared) == ((16,), (), 0)
    assert (launched.widths("load"), launched.widths("async")) == ((), (16,))
    assert launched.shared >= 3 * 4096


def test_loops_are_made_one_to_be_pipelined_only_as_launched() -> None:
    signature = {"in_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    spec = {"fn": kernels.flattened, "signature": signature, "constexprs": {"BLOCK": 128}}
    plain, launched = compile_kernel(spec, "sm_90"), compile_kernel(spec, "sm_90", as_launched=True)
    assert (plain.ttgir.count("scf.for"), plain.ttgir.count("scf.if")) == (2, 0)
    assert "scf.if" in launched.ttgir


def test_atomics() -> None:
    signature = {"x_ptr": "*fp32", "sum_ptr": "*fp32", "lock_ptr": "*i32"}
    spec = {"fn": kernels.accumulate, "signature": signature, "constexprs": {"BLOCK": 512}}
    assert compile_kernel(spec, "sm_90").atomic_widths == (4, 16)
    assert compile_kernel(spec, "sm_80").atomic_widths == (4, 4)  # vector atomics begin with sm_90


@pytest.mark.parametrize(
    ("target", "kind", "precision", "expected"),
    [
        ("sm_80", "*fp32", "tf32", "mma_tf32"),
        ("sm_80", "*fp16", "tf32", "mma_f16"),
        ("sm_90", "*fp32", "tf32", "wgmma_tf32"),
        ("sm_90", "*bf16", "tf32", "wgmma_bf16"),
        ("sm_100", "*fp16", "tf32", "tcgen05_f16"),
    ],
)
def test_mma_kinds(target: str, kind: str, precision: str, expected: str) -> None:
    signature = {"a_ptr": kind, "b_ptr": kind, "c_ptr": "*fp32"}
    spec = {"fn": kernels.dot, "signature": signature, "constexprs": {"S": 64, "PRECISION": precision}}
    assert list(compile_kernel(spec, target).mma) == [expected]


def test_ieee_dot_uses_no_tensor_core() -> None:
    signature = {"a_ptr": "*fp32", "b_ptr": "*fp32", "c_ptr": "*fp32"}
    spec = {"fn": kernels.dot, "signature": signature, "constexprs": {"S": 32, "PRECISION": "ieee"}}
    assert compile_kernel(spec, "sm_90").mma == {}


def test_spills_are_seen() -> None:
    signature = {"a_ptr": "*fp32", "b_ptr": "*fp32", "c_ptr": "*fp32"}
    constexprs = {"S": 64, "PRECISION": "ieee"}
    spec = {"fn": kernels.dot, "signature": signature, "constexprs": constexprs, "options": {"maxnreg": 32}}
    found = compile_kernel(spec, "sm_90")
    assert found.registers <= 32
    assert found.spill_stores > 0
    assert found.spill_loads > 0
    assert found.stack > 0


def test_wrong_target_ends_the_child_only() -> None:
    spec = {"fn": kernels.hopper_only, "signature": {"out_ptr": "*fp32"}}
    assert compile_kernel(spec, "sm_90").mma == {"wgmma_f16": 4}
    pid = os.getpid()
    with pytest.raises(CompileError) as caught:
        compile_kernel(spec, "sm_80")
    assert os.getpid() == pid
    failure = caught.value.failure
    assert failure.reason == "crash"
    assert "SIGABRT" in failure.message
    assert "wgmma" in failure.message
    assert failure.path == str(SOURCE)


def test_one_failure_among_others() -> None:
    good = complete({"fn": kernels.add, "signature": BF16_ADD, "constexprs": {"BLOCK": 1024}})
    bad = complete({"fn": kernels.hopper_only, "signature": {"out_ptr": "*fp32"}})
    first, second, third = compile_specs([good, bad, good], "sm_80", jobs=2)
    assert isinstance(first, Resources)
    assert isinstance(second, CompileFailure)
    assert isinstance(third, Resources)
    assert first.registers == third.registers


def test_an_error_in_a_helper_names_the_helpers_line() -> None:
    with pytest.raises(CompileError) as caught:
        compile_kernel({"fn": kernels.calls_helper, "signature": {"x_ptr": "*fp32"}}, "sm_90")
    failure = caught.value.failure
    assert failure.reason == "error"
    assert "undefined_name" in failure.message
    assert (failure.path, failure.line) == (str(SOURCE), line_of("return y + undefined_name"))
    assert failure.where == f"{SOURCE}:{failure.line}"


def test_a_layout_error_names_its_line() -> None:
    with pytest.raises(CompileError) as caught:
        compile_kernel(
            {"fn": kernels.layout_mismatch, "signature": {"x_ptr": "*i32"}, "constexprs": {"BLOCK": 512}}, "sm_90"
        )
    failure = caught.value.failure
    assert failure.reason == "error"
    assert "ayout mismatch" in failure.message
    assert failure.line == line_of("gl.store(x_ptr + left, left + right)")


def test_a_pass_failure_takes_its_text_from_the_compiler() -> None:
    bad = {"fn": kernels.add_twin, "signature": BF16_ADD, "constexprs": {"BLOCK": 1024}, "num_warps": 8}
    with pytest.raises(CompileError) as caught:
        compile_kernel(bad, "sm_90")
    failure = caught.value.failure
    assert "8" in failure.message
    assert "warps" in failure.message
    assert failure.path == str(SOURCE)


def test_timeout() -> None:
    spec = complete({"fn": kernels.add, "signature": BF16_ADD, "constexprs": {"BLOCK": 1024}})
    start = time.monotonic()
    (failure,) = compile_specs([spec], "sm_90", timeout=0.01)
    assert isinstance(failure, CompileFailure)
    assert failure.reason == "timeout"
    assert time.monotonic() - start < 5


def test_static_print_is_kept_and_the_log_of_ptxas_is_not() -> None:
    found = compile_kernel({"fn": kernels.prints, "signature": {"x_ptr": "*i32"}, "constexprs": {"N": 3}}, "sm_90")
    assert found.printed.split() == ["N", "is", "3"]


def test_the_cache_can_be_kept(tmp_path: Path) -> None:
    spec = {"fn": kernels.add, "signature": BF16_ADD, "constexprs": {"BLOCK": 1024}}
    first = compile_kernel(spec, "sm_90", cache=tmp_path)
    assert len(list(tmp_path.rglob("add.ptx"))) == 1
    assert compile_kernel(spec, "sm_90", cache=tmp_path) == first


def test_complete_takes_configuration_heuristics_and_defaults() -> None:
    spec = complete({"fn": kernels.tuned, "signature": {"x_ptr": "*fp32", "bias_ptr": "*fp32", "n": "i32"}})
    assert spec.kernel == "tuned"
    assert spec.num_warps == 2
    assert spec.constexprs == {"BLOCK": 256, "EVEN": True, "HAS_BIAS": True, "SCALE": 2.0}
    assert spec.signature["BLOCK"] == "constexpr"
    given = complete(
        {
            "fn": kernels.tuned,
            "signature": {"x_ptr": "*fp32", "n": "i32"},
            "constexprs": {"bias_ptr": None, "BLOCK": 64},
        }
    )
    assert given.constexprs["HAS_BIAS"] is False
    assert given.constexprs["BLOCK"] == 64


def test_complete_looks_through_decorators_of_a_package() -> None:
    class Launcher:
        def __init__(self, fn) -> None:
            self.fn = fn
            self.arg_names = fn.arg_names

    spec = complete({"fn": Launcher(kernels.tuned), "signature": {"x_ptr": "*fp32", "bias_ptr": "*fp32", "n": "i32"}})
    assert (spec.kernel, spec.num_warps, spec.constexprs["BLOCK"]) == ("tuned", 2, 256)


def test_a_heuristic_may_choose_the_number_of_warps() -> None:
    import triton

    rules = {"num_warps": lambda args: 8 if args["BLOCK"] > 64 else 2, "num_stages": lambda args: 3}
    fn = triton.heuristics(rules)(kernels.add)
    entry = {"fn": fn, "signature": BF16_ADD, "constexprs": {"BLOCK": 1024}}
    assert complete(entry).num_warps == 8
    assert complete({**entry, "constexprs": {"BLOCK": 64}}).num_warps == 2
    assert complete({**entry, "num_warps": 1}).num_warps == 1
    assert complete(entry).constexprs == {"BLOCK": 1024}


def test_a_heuristic_may_ask_a_tensor_for_its_shape() -> None:
    import triton

    rules = {"BLOCK": lambda args: triton.next_power_of_2(args["x_ptr"].shape[-1] // 32 * (args["n"] // 16))}
    entry = {"fn": triton.heuristics(rules)(kernels.add), "signature": BF16_ADD}
    assert complete(entry).constexprs == {"BLOCK": 128}


def test_complete_honours_do_not_specialize() -> None:
    spec = complete(
        {"fn": kernels.unspecialised, "signature": {"x_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}
    )
    assert list(spec.attrs) == [(0,)]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"fn": kernels.add, "signature": {}, "constexprs": {"BLOCK": 1}}, "no type for parameter 'x_ptr'"),
        ({"fn": kernels.add, "signature": BF16_ADD}, "no type for parameter 'BLOCK'"),
        ({"fn": kernels.add, "signature": {**BF16_ADD, "BLOCK": "constexpr"}}, "no value for constexpr 'BLOCK'"),
        ({"fn": kernels.add, "signature": {**BF16_ADD, "m": "i32"}}, "no parameter 'm'"),
        ({"fn": kernels.add, "signatur": {}}, "unknown key 'signatur'"),
        ({"fn": print, "signature": {}}, "not a jitted kernel"),
        ({"signature": {}}, "without 'fn'"),
    ],
)
def test_a_specification_that_does_not_fit(entry, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        complete(entry)


def test_an_error_inside_tritons_library_names_the_call() -> None:
    entry = {
        "fn": kernels.library_function_without_layouts,
        "signature": {"x_ptr": "*fp32"},
        "constexprs": {"BLOCK": 128},
    }
    with pytest.raises(CompileError) as caught:
        compile_kernel(entry, "sm_90")
    failure = caught.value.failure
    assert "layout" in failure.message
    assert (failure.path, failure.line) == (str(SOURCE), line_of("best = tl.argmax(x, 0)"))
