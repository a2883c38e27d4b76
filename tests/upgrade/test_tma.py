"""Stage tma: what it writes, which launches take the copies, that it computes the same, what it refuses."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.kernels import indexed, matmul
from tests.upgrade.test_async_copy import operands
from tritonport.convert import Conversion, ConvertOptions
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.upgrade.tma.terms import HostNames
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import EmulationError, emulated


def upgraded(text: str, version: str = VERSION) -> Conversion:
    return conversion(text, ConvertOptions(triton=version, target="sm_90", stage="tma"))


def run(text: str, folder: Path, **arguments: Any) -> tuple[torch.Tensor, list[bool]]:
    """The result, and for each descriptor that a launch asked for whether it got one."""
    module: Any = module_of(text, folder, "kernel")
    made: list[bool] = []
    own = module.tile_descriptor

    def counted(*given: Any, **named: Any) -> Any:
        found = own(*given, **named)
        made.append(found is not None)
        return found

    with patch.object(module, "tile_descriptor", counted), emulated(target="sm_90"):
        return module.launch(**arguments), made


# -- what it writes


def test_a_kernel_becomes_two_forms_and_an_entry_that_chooses() -> None:
    text = upgraded(matmul(), "3.9").text
    assert "# tritonport: stages literal, tma for sm_90, Triton 3.8 to 3.9\n" in text
    descriptor = (
        '"a_desc": lambda args: tile_descriptor( args["a_ptr"], [args["M"], args["K"]], '
        '[args["stride_am"], args["stride_ak"]], [args["BLOCK_M"], args["BLOCK_K"]], either_order=True, ),'
    )
    assert descriptor in " ".join(text.split())
    loop = """
    for k in range(gl.cdiv(K, BLOCK_K)):
        load_tile(a_desc, [gl.program_id(0) * BLOCK_M, k * BLOCK_K], a_order, a_ready, a_tile)
        load_tile(b_desc, [k * BLOCK_K, gl.program_id(1) * BLOCK_N], b_order, b_ready, b_tile)
        mbarrier.wait(a_ready, phase)
        a = landed(in_order(a_tile, a_order), 0, acc_layout)
"""
    assert (
        loop.replace("gl.program_id(0) * BLOCK_M", "BLOCK_M * gl.program_id(0)").replace(
            "gl.program_id(1) * BLOCK_N", "BLOCK_N * gl.program_id(1)"
        )
        in text
    )
    assert "if a_desc is None or b_desc is None or c_desc is None:\n        matmul_kernel_pointers(" in text
    assert "matmul_kernel[(triton.cdiv(M, BLOCK_M)" in text, "the launch is as it was"


def test_a_comment_stays_above_its_loop() -> None:
    loop = "    for k in range(tl.cdiv(K, BLOCK_K)):\n"
    text = upgraded(matmul().replace(loop, f"\n    # Along K.\n{loop}")).text
    assert text.count("    # Along K.\n    for k in range(gl.cdiv(K, BLOCK_K)):\n") == 2
    assert "\n\n    a_tile = gl.allocate_shared_memory(" in text, "the paragraph begins with what is made for the loop"


def test_the_names_are_those_of_the_triton_that_is_written_for() -> None:
    assert "tma.async_copy_global_to_shared(" in upgraded(matmul(), "3.6").text
    assert "tma.async_load(" in upgraded(matmul(), "3.9").text


def test_its_own_output_stays() -> None:
    text = upgraded(matmul()).text
    again = upgraded(text)
    assert again.text == text
    assert again.diagnostics == ()


# -- which launches take the copies, and what they compute

CAST = matmul().replace("acc += tl.dot(a, b)", "acc = tl.dot(a.to(b.dtype), b, acc)")
FORMS = {"plain": True, "transposed": True, "strided": False, "misaligned": False}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(72, 40, 56), (64, 32, 64), (8, 8, 8), (33, 48, 0), (70, 42, 50)])
def test_it_computes_the_same_for_any_shape_and_stride(shape: tuple[int, int, int], form: str, tmp_path: Path) -> None:
    given = operands(*shape, torch.float16, form)
    got, made = run(upgraded(matmul()).text, tmp_path, **given)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)
    whole = all(size % 8 == 0 for size in shape) and 0 not in shape
    assert len(made) == 3
    assert all(made) == (FORMS[form] and whole)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("a_by_columns", [False, True])
@pytest.mark.parametrize("b_by_columns", [False, True])
def test_every_order_of_the_operands(
    dtype: torch.dtype, a_by_columns: bool, b_by_columns: bool, tmp_path: Path
) -> None:
    given = operands(72, 40, 104, dtype, "plain")
    if a_by_columns:
        given["a"] = given["a"].t().contiguous().t()
    if b_by_columns:
        given["b"] = given["b"].t().contiguous().t()
    got, made = run(upgraded(matmul()).text, tmp_path, **given)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)
    assert all(made)


@pytest.mark.parametrize("a_dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("a_by_columns", [False, True])
def test_a_tile_is_read_in_place_where_its_cast_changes_nothing(
    a_dtype: torch.dtype, a_by_columns: bool, tmp_path: Path
) -> None:
    text = upgraded(CAST).text
    assert "of_type(a, b.dtype)" in text
    given = operands(72, 40, 104, torch.float16, "plain")
    given["a"] = given["a"].to(a_dtype)
    if a_by_columns:
        given["a"] = given["a"].t().contiguous().t()
    got, made = run(text, tmp_path, **given)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)
    assert all(made)


def test_truth_values_take_the_pointers(tmp_path: Path) -> None:
    given = operands(72, 40, 64, torch.float16, "plain")
    given["a"] = given["a"] > 0
    got, made = run(upgraded(CAST).text, tmp_path, **given)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)
    assert made[0] is False


@pytest.mark.parametrize("first", [0, 16, 60])
def test_a_loop_with_a_start(first: int, tmp_path: Path) -> None:
    given = operands(64, 16, 64, torch.float16, "plain")
    got, made = run(upgraded(indexed()).text, tmp_path, **given, first=first)
    rest = given["a"].float()[:, first:] @ given["b"].float()[first:]
    torch.testing.assert_close(got, rest + (64 - first), rtol=0, atol=0)
    assert all(made)


def test_a_start_below_zero_takes_the_pointers(tmp_path: Path) -> None:
    # Below the tensor's first row a descriptor gives zeros, and pointers what stands there: here outside of memory.
    given = operands(64, 16, 64, torch.float16, "plain")
    with pytest.raises(EmulationError, match="out-of-bounds load"):
        run(upgraded(indexed()).text, tmp_path, **given, first=-16)


def test_elements_of_64_bits_take_the_pointers(tmp_path: Path) -> None:
    module = module_of(upgraded(matmul()).text, tmp_path, "kernel")
    for dtype, copied in ((torch.float32, True), (torch.float64, False), (torch.int64, False)):
        found = module.tile_descriptor(torch.zeros(64, 64, dtype=dtype), [64, 64], [64, 1], [16, 16])
        assert (found is not None) == copied


# -- what it refuses

REFUSED = {
    "rows beyond the end are stored": (
        "mask=(rows[:, None] < M) & (cols[None, :] < N)",
        "mask=cols[None, :] < N",
        "the store to c_ptr may write it",
    ),
    "another bound at the store": (
        "mask=(rows[:, None] < M) & (cols[None, :] < N)",
        "mask=(rows[:, None] < M + 1) & (cols[None, :] < N)",
        "the store to c_ptr may write it",
    ),
    "a sum over the rows": (
        "    rows = tl.program_id(0)",
        "    tl.store(c_ptr + tl.arange(0, BLOCK_N), tl.sum(acc, 0))\n    rows = tl.program_id(0)",
        "it reaches `gl.sum(",
    ),
    "a dot that sums over the rows": (
        "        acc += tl.dot(a, b)",
        "        acc += tl.dot(tl.trans(a), b)",
        "a dot sums over it",
    ),
    "another fill value": (
        "mask=offs_k[None, :] < left, other=FILL",
        "mask=offs_k[None, :] < left, other=1.0",
        "masked elements are 1.0",
    ),
    "a coordinate that may be negative": (
        "    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak",
        "    offs_m = tl.program_id(0) * BLOCK_M - 8 + tl.arange(0, BLOCK_M)\n"
        "    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak",
        "may be negative",
    ),
    "a mask that is a flag": (
        "mask=offs_k[None, :] < left, other=FILL",
        "mask=(offs_k[None, :] < left) & (k < M), other=FILL",
        "which is no coordinate of the tile",
    ),
    "memory that is written too": (
        "        a = tl.load(a_ptrs",
        "        tl.store(a_ptr + k, 0.0)\n        a = tl.load(a_ptrs",
        "the kernel also writes a_ptr",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proved_stays_and_says_why(case: str) -> None:
    right, wrong, words = REFUSED[case]
    template = matmul("FILL")
    assert right in template
    found = upgraded(template.replace(right, wrong).replace("FILL", "0.0"))
    said = [one for one in found.diagnostics if words in one.message]
    assert said, [one.message for one in found.diagnostics]
    assert {one.code for one in said} <= {"TP411", "TP412"}
    if "the load of a" in said[0].message:
        assert "a_desc" not in found.text
        assert "a = tl.load(" in template.replace(right, wrong).splitlines()[said[0].line - 1]


def test_a_kernel_in_a_class_stays() -> None:
    # Its two forms would stand in the class too, where the kernel that chooses does not find them.
    head, kernel = matmul().split("@triton.jit\n")
    kernel, host = kernel.split("\n\n\ndef launch")
    method = "".join(f"    {line}\n" for line in f"@staticmethod\n@triton.jit\n{kernel}".splitlines())
    text = f"{head}class Products:\n{method}\n\ndef launch{host}"
    found = upgraded(text.replace("    matmul_kernel[(", "    Products.matmul_kernel[("))
    assert "tile_descriptor" not in found.text
    assert {one.code for one in found.diagnostics} == {"TP412"}
    assert all("its kernel stands in a class" in one.message for one in found.diagnostics)


def test_parameters_that_are_given_by_keyword_alone(tmp_path: Path) -> None:
    text = matmul().replace("stride_cm,\n    BLOCK_M", "stride_cm, *,\n    BLOCK_M")
    given = operands(64, 32, 64, torch.float16, "plain")
    for stage in ("tma", "mma"):
        found = conversion(text, ConvertOptions(triton=VERSION, stage=stage))
        got, made = run(found.text, tmp_path, **given)
        torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)
        assert len(made) == 3
        assert all(made)
        assert found.diagnostics == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("right - left", 'args["right"] - args["left"]'),
        ("(left + right) // leftmost", '(args["left"] + args["right"]) // args["leftmost"]'),
        ("right <= left", 'args["right"] <= args["left"]'),
        ("(left * right) * (leftmost * 2)", 'args["left"] * args["right"] * (args["leftmost"] * 2)'),
    ],
)
def test_what_a_launch_computes_has_the_names_of_its_arguments(text: str, expected: str) -> None:
    source = "import triton\n\n\n@triton.jit\ndef kernel(left, right, leftmost):\n    pass\n"
    kernel = SourceModule(source, "kernel.py", shared_project()).kernels[0]
    assert HostNames(kernel, "triton", set()).source(text) == expected


def test_a_hint_for_the_caches_is_told_and_kept_where_pointers_are() -> None:
    text = matmul().replace("left, other=0.0)", 'left, other=0.0, eviction_policy="evict_last")', 1)
    found = upgraded(text)
    (said,) = [one for one in found.diagnostics if one.code == "TP413"]
    assert said.message.startswith("the load of a (from a_ptr) loses eviction_policy=")
    assert "eviction_policy=" in text.splitlines()[said.line - 1]
    pointers, tiles = found.text.split("def matmul_kernel_tiles(")
    assert 'eviction_policy="evict_last"' in pointers and "eviction_policy" not in tiles


def test_a_warmup_gives_types_in_place_of_tensors(tmp_path: Path) -> None:
    from triton.runtime.jit import MockTensor

    module: Any = module_of(upgraded(matmul()).text, tmp_path, "warmed")
    found = module.tile_descriptor(MockTensor(torch.float16), [64, 64], [64, 1], [32, 32])
    assert found.block_shape == [32, 32]
    assert module.tile_descriptor(MockTensor(torch.float64), [64, 64], [64, 1], [32, 32]) is None


# -- that a mistake in it would be found

FAULTS = {
    "no wait": ("        mbarrier.wait(b_ready, phase)\n", "", "b_"),
    "the other phase": ("mbarrier.wait(a_ready, phase)", "mbarrier.wait(a_ready, phase ^ 1)", "a_"),
    "a phase that does not turn": ("        phase ^= 1\n", "", "a_"),
    "half of the bytes": ("desc.block_type.nbytes, pred", "desc.block_type.nbytes // 2, pred", "bytes"),
    "no fence before the copy out": (
        "    # The copy reads shared memory through the async proxy: order the stores before it.\n"
        "    fence_async_shared()\n",
        "",
        "fence",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    right, wrong, words = FAULTS[fault]
    text = upgraded(matmul()).text
    assert right in text
    given = operands(64, 32, 128, torch.float16, "plain")
    with pytest.raises(EmulationError, match=words):
        run(text.replace(right, wrong), tmp_path, **given)


@pytest.mark.parametrize(
    ("right", "wrong"), [("[BLOCK_M * gl.program_id(0), k * BLOCK_K]", "[BLOCK_M * gl.program_id(0), k * BLOCK_M]")]
)
def test_another_coordinate_is_another_result(right: str, wrong: str, tmp_path: Path) -> None:
    text = upgraded(matmul()).text
    assert right in text
    given = operands(72, 40, 104, torch.float16, "plain")
    got, _ = run(text.replace(right, wrong), tmp_path, **given)
    assert not torch.equal(got, given["a"].float() @ given["b"].float())


# -- what it compiles to


def compiled(text: str, folder: Path, aligned: bool) -> Resources:
    module = module_of(text, folder, "compiled")
    pointers = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32"}
    numbers = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32")
    units = {"stride_ak": 1, "stride_bn": 1}
    sizes = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    entry = {
        "fn": module.matmul_kernel,
        "signature": {**pointers, **numbers, **dict.fromkeys([*units, *sizes], "constexpr")},
        "constexprs": {**units, **sizes},
        "num_warps": 4,
    }
    if not aligned:
        entry["attrs"] = {}
    found = compile_kernel(entry, "sm_90")
    assert isinstance(found, Resources), found
    return found


def test_an_aligned_launch_has_no_pointers_left_and_another_is_the_literal_port(tmp_path: Path) -> None:
    text = upgraded(matmul()).text
    copied = compiled(text, tmp_path, aligned=True)
    assert [access for access in copied.accesses if access.kind in ("load", "store")] == []
    assert copied.spills == 0
    plain = compiled(text, tmp_path, aligned=False)
    assert [access for access in plain.accesses if access.kind == "load"]
