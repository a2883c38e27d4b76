"""Stage async-copy, operands of 8 bits that are cast before a dot: where that is, and that it computes the same."""

from itertools import product as product_of
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.test_async_copy import TARGETS, run, upgraded
from tritonport.convert import ConvertOptions
from tritonport.verify.compile import Resources, compile_kernel

# x @ (w.T or w) or w @ x; the tile that is cast is DOT's second operand, or its first.
KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    x_ptr, w_ptr, y_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs = start + tl.arange(0, BLOCK_K)
        in_k = offs < K
        x = tl.load(x_ptr + rows[:, None] * K + offs[None, :], mask=(rows[:, None] < M) & in_k[None, :], other=0.0)
        LOAD
        acc = tl.dot(DOT, acc)
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(x, w, n, block_m=16, block_k=32):
    M, K = x.shape
    y = torch.empty((M, n), dtype=torch.float32)
    grid = (triton.cdiv(M, block_m), triton.cdiv(n, 32))
    product_kernel[grid](x, w, y, M, n, K, BLOCK_M=block_m, BLOCK_N=32, BLOCK_K=block_k)
    return y
"""
BY_ROWS = "w = tl.load(w_ptr + cols[:, None] * K + offs[None, :], mask=(cols[:, None] < N) & in_k[None, :], other=0)"
BY_COLUMNS = "w = tl.load(w_ptr + offs[:, None] * N + cols[None, :], mask=in_k[:, None] & (cols[None, :] < N), other=0)"
FORMS = {
    "by rows": (BY_ROWS, "x, w.to(x.dtype).T"),
    "transposed by a call": (BY_ROWS, "x, tl.trans(w.to(x.dtype))"),
    "by columns": (BY_COLUMNS, "x, w.to(x.dtype)"),
    "first": (BY_COLUMNS, "x.to(w.dtype), w"),
}
BLOCKS = ((16, 32), (64, 64), (16, 16))
TYPES = ((torch.int8, torch.bfloat16), (torch.int8, torch.float32), (torch.float8_e5m2, torch.half))


def kernel(form: str) -> str:
    load, dot = FORMS[form]
    return KERNEL.replace("LOAD", load).replace("DOT", dot)


def operands(m: int, n: int, k: int, form: str, narrow: torch.dtype, wide: torch.dtype) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(m + n + k)
    made = lambda *shape: torch.randint(-3, 4, shape, generator=generator).float()  # noqa: E731
    x, w = made(m, k), made(n, k)
    w = w if "w_ptr + cols" in kernel(form) else w.t().contiguous()
    types = (narrow, wide) if form == "first" else (wide, narrow)
    return {"x": x.to(types[0]), "w": w.to(types[1]), "n": n}


def product(given: dict[str, Any]) -> torch.Tensor:
    x, w = given["x"].float(), given["w"].float()
    return x @ (w.t() if w.shape == (given["n"], x.shape[1]) else w)


def test_a_tile_that_is_cast_before_the_dot_is_loaded_as_the_dot_reads_it() -> None:
    text = upgraded(kernel("by rows"), version="3.9").text
    expected = """
        w = arrived_operand(w_ring.index(slot).permute((1, 0)), 1, w_result_layout)
        x_operand = operand_beside(x_smem, 0, w)
        if not is_operand(w):
            # It reads the ring: the tiles stay until it is done.
            acc = dot(x_operand, w.to(x.dtype), acc)
        next_start = start + NUM_BUFFERS * BLOCK_K
"""
    behind = """
        async_copy.commit_group()
        if is_operand(w):
            acc = dot(x_operand, w.to(x.dtype), acc)
        slot = gl.where("""
    assert expected in text and behind in text
    assert "w.to(x.dtype), acc)" in upgraded(kernel("by columns")).text
    assert "arrived_operand(w_ring.index(slot), 1, w_result_layout)" in upgraded(kernel("by columns")).text
    assert "arrived_operand(x_ring.index(slot), 0, x_result_layout)" in upgraded(kernel("first")).text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", TARGETS)
def test_it_computes_the_same(form: str, target: str, tmp_path: Path) -> None:
    text = upgraded(kernel(form), target).text
    assert "arrived_operand(" in text
    for place, ((block_m, block_k), (narrow, wide)) in enumerate(product_of(BLOCKS, TYPES)):
        # Every pair on one target; on the other, whose instruction alone is another one, each block and type once.
        if target == "sm_80" and place % (len(TYPES) + 1) != 0:
            continue
        given = operands(40, 48, 80, form, narrow, wide)
        folder = tmp_path / str(place)
        folder.mkdir()
        got = run(text, folder, target, **given, block_m=block_m, block_k=block_k)
        assert torch.equal(got, product(given)), (block_m, block_k, narrow, wide)


def test_every_stage_behind_it_computes_the_same(tmp_path: Path) -> None:
    for form in FORMS:
        options = ConvertOptions(triton=VERSION, target="sm_90", stage="all")
        text = conversion(kernel(form), options).text
        for block_m in (16, 64):
            given = operands(70, 48, 80, form, torch.int8, torch.bfloat16)
            folder = tmp_path / f"{form}{block_m}"
            folder.mkdir()
            assert torch.equal(run(text, folder, "sm_90", **given, block_m=block_m, block_k=64), product(given))


def test_a_ring_is_filled_behind_what_reads_it_last(tmp_path: Path) -> None:
    also = "        acc += tl.sum(x.to(tl.float32), axis=1)[:, None]\n"
    text = upgraded(kernel("by rows").replace("    tl.store(", f"{also}    tl.store(", 1)).text
    lines = [line.strip() for line in text.splitlines()]
    loop = lines[lines.index("slot = 0") :]
    assert "is_operand(w)" not in "".join(loop)
    dot = next(place for place, line in enumerate(loop) if line.startswith("acc = dot("))
    read = next(place for place, line in enumerate(loop) if "gl.sum(" in line)
    assert dot < read < next(place for place, line in enumerate(loop) if line.startswith("start_copy("))
    given = operands(40, 48, 80, "by rows", torch.int8, torch.bfloat16)
    assert torch.equal(run(text, tmp_path, "sm_90", **given), product(given) + given["x"].float().sum(1)[:, None])


def test_a_ring_that_is_filled_before_a_dot_that_reads_it_is_found(tmp_path: Path) -> None:
    """With 64 rows warpgroups do the dot, and read x where it was copied to."""
    text = upgraded(kernel("by rows"), "sm_90").text
    note = "            # It reads the ring: the tiles stay until it is done.\n"
    late = f"{note}            acc = dot(x_operand, w.to(x.dtype), acc)"
    assert late in text
    wrong = text.replace(late, "            pass").replace("        if is_operand(w):\n", "        if True:\n")
    given = operands(70, 48, 320, "by rows", torch.int8, torch.bfloat16)
    run(text, tmp_path, "sm_90", **given, block_m=64, block_k=64)
    (tmp_path / "wrong").mkdir()
    with pytest.raises(Exception, match=r"reads `x_ring\[0\]` before the asynchronous copy"):
        run(wrong, tmp_path / "wrong", "sm_90", **given, block_m=64, block_k=64)


@pytest.mark.parametrize(
    "dot",
    ["x, (w.to(x.dtype) * 2).T", "x, w.to(x.dtype).T + w.to(x.dtype).T", "x, w.to(x.dtype).T, input_precision='ieee'"],
)
def test_a_tile_with_more_to_it_than_a_cast_goes_through_registers(dot: str) -> None:
    text = KERNEL.replace("LOAD", BY_ROWS).replace("tl.dot(DOT, acc)", f"tl.dot({dot}, acc=acc)")
    assert "arrived_operand" not in upgraded(text).text


def test_an_operand_that_a_call_transposes_changes_with_the_tile_that_it_is_made_of(tmp_path: Path) -> None:
    text = KERNEL.replace("LOAD", BY_ROWS).replace("DOT", "x, tl.trans(w.to(x.dtype) * 2)")
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="all")
    text = conversion(text, options).text
    assert "gl.permute(w.to(x.dtype) * 2" in text
    given = operands(70, 48, 80, "by rows", torch.int8, torch.bfloat16)
    for block_m in (16, 64):
        folder = tmp_path / str(block_m)
        folder.mkdir()
        assert torch.equal(run(text, folder, "sm_90", **given, block_m=block_m), 2 * product(given))


def compiled(text: str, folder: Path, **options: Any) -> Resources:
    entry = {
        "fn": module_of(text, folder, "compiled").product_kernel,
        "signature": {"x_ptr": "*bf16", "w_ptr": "*i8", "y_ptr": "*fp32", **dict.fromkeys("MNK", "i32")},
        "constexprs": {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 64},
        "num_warps": 4,
    }
    entry["attrs"] = {(place,): [["tt.divisibility", 16]] for place in range(6)}
    found = compile_kernel({**entry, **options}, "sm_80", as_launched=True)
    assert isinstance(found, Resources), found
    return found


def test_it_has_the_shared_memory_of_tritons_own_pipeline(tmp_path: Path) -> None:
    found = compiled(upgraded(kernel("by rows")).text, tmp_path, num_stages=3)
    theirs = compiled(kernel("by rows"), tmp_path, num_stages=3)
    assert found.shared == theirs.shared
    assert "st.shared" not in found.ptx.split("mma.sync")[0]


@pytest.mark.parametrize("stage", ["async-copy", "tma"])
def test_unsigned_elements_keep_their_values(stage: str, tmp_path: Path) -> None:
    """Their copies are no fault of the port: memory, as the IR knows it, has no signs."""
    text = KERNEL.replace("LOAD", BY_COLUMNS).replace("DOT", "x, w.to(x.dtype)")
    port = conversion(text, ConvertOptions(triton=VERSION, target="sm_90", stage=stage)).text
    x, w = torch.eye(16, 32).half(), torch.arange(32 * 32).to(torch.uint8).reshape(32, 32)
    torch.testing.assert_close(run(port, tmp_path, "sm_90", x=x, w=w, n=32), w[:16].float(), rtol=0, atol=0)
