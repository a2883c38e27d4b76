"""Stage mma: what it writes, that it computes the same, and that a mistake in it would be found."""

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.kernels import matmul as pointers
from tests.upgrade.mma_kernels import attention, copied, matmul, persistent
from tritonport.convert import Conversion, ConvertOptions
from tritonport.upgrade.mma import upgrade_gluon
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import EmulationError, emulated

ROOT = Path(__file__).parents[2]
KERNELS = {"matmul": matmul, "copied": copied, "persistent": persistent, "attention": attention}


def upgraded(text: str, version: str = VERSION, target: str = "sm_90") -> Conversion:
    return conversion(text, ConvertOptions(triton=version, target=target, stage="mma"))


def run(text: str, folder: Path, **arguments: Any) -> torch.Tensor:
    return launched(module_of(text, folder, "kernel"), **arguments)


def launched(module: ModuleType, **arguments: Any) -> torch.Tensor:
    with emulated(target="sm_90"):
        result: torch.Tensor = module.launch(**arguments)
    return result


def operands(name: str, trips: int) -> dict[str, Any]:
    """Arguments for so many trips of the loop, the last of them not full."""
    generator = torch.Generator().manual_seed(trips)
    size = max(32 * trips - 5, 1)
    made = lambda *shape: torch.randn(*shape, generator=generator).half()  # noqa: E731
    if name == "attention":
        keys = 0 if trips == 0 else size
        return {"q": made(1, 64, 16), "k": made(1, size, 16), "v": made(1, size, 16), "n_keys": keys}
    columns = 0 if trips == 0 else size
    rows = 100 if name == "persistent" else 64
    return {"a": made(rows, size + -size % 8)[:, :size], "b": made(size, 32), "columns": columns}


def bits(result: torch.Tensor) -> torch.Tensor:
    """The result as whole numbers: NaN is what it is for zero keys."""
    return result.contiguous().view(torch.int32)


# -- what it writes


def test_the_dot_of_a_product_stays_under_way() -> None:
    text = upgraded(matmul("3.9"), "3.9").text
    assert text.startswith("import math\nimport torch\nimport triton\n# tritonport: stage mma for sm_90, Triton 3.6 to")
    expected = """
    gl.static_assert(NUM_BUFFERS > 1, "the dot under way still reads one place of the ring")
    for i in gl.static_range(NUM_BUFFERS - 1):
        mbarrier.expect(a_ready.index(i), a_desc.block_type.nbytes, pred=i < stop)
        tma.async_load(a_desc, [pid_m * BLOCK_M, i * BLOCK_K], a_ready.index(i), a_ring.index(i), pred=i < stop)
        mbarrier.expect(b_ready.index(i), b_desc.block_type.nbytes, pred=i < stop)
        tma.async_load(b_desc, [i * BLOCK_K, pid_n * BLOCK_N], b_ready.index(i), b_ring.index(i), pred=i < stop)
    slot = 0
    phase = 0
    free = NUM_BUFFERS - 1
    for k in range(stop):
        mbarrier.wait(a_ready.index(slot), phase)
        a = a_ring.index(slot)
        mbarrier.wait(b_ready.index(slot), phase)
        b = b_ring.index(slot)
        acc = dot_added_started(a, b, acc)
        # This one stays under way; that of the iteration before is done, and one place in the ring free.
        acc = dot_awaited(acc, 1)
        next_k = k + NUM_BUFFERS - 1
        more = next_k < stop
        mbarrier.expect(a_ready.index(free), a_desc.block_type.nbytes, pred=more)
        tma.async_load(a_desc, [pid_m * BLOCK_M, next_k * BLOCK_K], a_ready.index(free), a_ring.index(free), pred=more)
        mbarrier.expect(b_ready.index(free), b_desc.block_type.nbytes, pred=more)
        tma.async_load(b_desc, [next_k * BLOCK_K, pid_n * BLOCK_N], b_ready.index(free), b_ring.index(free), pred=more)
        free = slot
        last = slot == NUM_BUFFERS - 1
        phase = gl.where(last, phase ^ 1, phase)
        slot = gl.where(last, 0, slot + 1)
    acc = dot_awaited(acc, 0)
"""
    assert expected in text


def test_by_hand_it_takes_the_instructions_themselves() -> None:
    text = upgraded(persistent("3.9"), "3.9").text
    expected = """
        free = (slot + NUM_BUFFERS - 1) % NUM_BUFFERS
        for k in range(0, K, BLOCK_K):
            mbarrier.wait(ready.index(slot), phase)
            acc = warpgroup_mma(a_ring.index(slot), b_ring.index(slot), acc, is_async=True)
            # This one stays under way; that of the iteration before is done, and one place in the ring free.
            acc = warpgroup_mma_wait(1, deps=(acc,))
            next_k = k + (NUM_BUFFERS - 1) * BLOCK_K
            mbarrier.expect(ready.index(free), nbytes, pred=next_k < K)
"""
    assert expected in text
    assert "            slot = gl.where(last, 0, slot + 1)\n        acc = warpgroup_mma_wait(0, deps=(acc,))\n" in text
    assert "dot_awaited" not in text


def test_the_second_dot_of_attention_runs_under_the_next_iteration() -> None:
    text = upgraded(attention("3.9"), "3.9").text
    function = """
@gluon.jit
def attention_kernel_between_dots(cols_qk, n_keys, CAUSAL: gl.constexpr, offs_m_qk, qk, m_i, l_i):
    \"\"\"What an iteration of attention_kernel computes between its dots.\"\"\"
    visible = cols_qk[None, :] < n_keys
    if CAUSAL:
        visible = visible & (offs_m_qk[:, None] >= cols_qk[None, :])
    qk = gl.where(visible, qk, float("-inf"))
    m_new = gl.maximum(m_i, gl.max(qk, 1))
    p = gl.exp2(qk - m_new[:, None])
    alpha = gl.exp2(m_i - m_new)
    l_i = l_i * alpha + gl.sum(p, 1)
    return m_new, p, alpha, l_i
"""
    assert function in text
    filled = """
        tma.async_load(k_desc, [head, next_start_n, 0], k_ready.index(i), k_ring.index(i), pred=more)
        if i < NUM_BUFFERS - 1:
            mbarrier.expect(v_ready.index(i), v_desc.block_type.nbytes, pred=more)
            tma.async_load(v_desc, [head, next_start_n, 0], v_ready.index(i), v_ring.index(i), pred=more)
"""
    assert filled in text
    first = """
    free = NUM_BUFFERS - 1
    # The first iteration, up to its last dot: that runs under the next iteration, and the last one alone.
    if 0 < last:
        start_n = 0
        cols_qk = start_n + offs_n_qk
        mbarrier.wait(k_ready.index(slot), phase)
        k = k_ring.index(slot).reshape([BLOCK_N, D]).permute((1, 0))
        qk = dot_new(q, k, qk_layout) * qk_scale
        next_start_n = start_n + NUM_BUFFERS * BLOCK_N
"""
    assert first in text
    steady = """
        for start_n in range(BLOCK_N, last, BLOCK_N):
            cols_qk = start_n + offs_n_qk
            mbarrier.wait(k_ready.index(slot), phase)
            k = k_ring.index(slot).reshape([BLOCK_N, D]).permute((1, 0))
            qk = dot_new_started(q, k, qk_layout)
            mbarrier.wait(v_ready.index(free), free_phase)
            v = v_ring.index(free).reshape([BLOCK_N, D])
            # acc gets what the iteration before has left.
            acc = dot_started(p_operand, v, acc)
            qk = dot_awaited(qk, 1) * qk_scale
            next_start_n = start_n + NUM_BUFFERS * BLOCK_N
            more = next_start_n < last
            mbarrier.expect(k_ready.index(slot), k_desc.block_type.nbytes, pred=more)
            tma.async_load(k_desc, [head, next_start_n, 0], k_ready.index(slot), k_ring.index(slot), pred=more)
            m_new, p, alpha, l_i = attention_kernel_between_dots(cols_qk, n_keys, CAUSAL, offs_m_qk, qk, m_i, l_i)
            # The dot of the iteration before is done, and its place in the ring free.
            acc = dot_awaited(acc, 0)
            acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, acc_layout))[:, None]
            p_operand = p.to(v_ring.dtype)
            next_start_n_v = start_n + (NUM_BUFFERS - 1) * BLOCK_N
            more_v = next_start_n_v < last
            mbarrier.expect(v_ready.index(free), v_desc.block_type.nbytes, pred=more_v)
            tma.async_load(v_desc, [head, next_start_n_v, 0], v_ready.index(free), v_ring.index(free), pred=more_v)
            m_i = m_new
            free = slot
            free_phase = phase
            last_slot = slot == NUM_BUFFERS - 1
            phase = gl.where(last_slot, phase ^ 1, phase)
            slot = gl.where(last_slot, 0, slot + 1)
        mbarrier.wait(v_ready.index(free), free_phase)
        v = v_ring.index(free).reshape([BLOCK_N, D])
        acc = dot(p_operand, v, acc)
    mbarrier.invalidate(q_ready)
"""
    assert steady in text


def test_a_dot_takes_the_copied_tile_itself() -> None:
    # dot_operand would write what is in registers to a buffer that the dot under way still reads.
    text = upgraded(copied("3.9"), "3.9").text
    expected = """
        a = landed(in_order(a_ring.index(slot), [1, 0]), 0, acc_layout)
        mbarrier.wait(b_ready.index(slot), phase)
        b = landed(in_order(b_ring.index(slot), [1, 0]), 1, acc_layout)
        acc = dot_added_started(a, b, acc)
"""
    assert expected in text


@pytest.mark.parametrize("name", KERNELS)
def test_a_second_run_changes_nothing(name: str) -> None:
    once = upgraded(KERNELS[name](VERSION))
    again = upgraded(once.text)
    assert again.text == once.text
    assert once.diagnostics == again.diagnostics == ()


# -- what it computes


@pytest.mark.parametrize("trips", range(6))
@pytest.mark.parametrize("name", KERNELS)
def test_every_trip_count_and_depth_gives_the_same_bits(name: str, trips: int, tmp_path: Path) -> None:
    text = KERNELS[name](VERSION)
    given = operands(name, trips)
    before = bits(run(text, tmp_path, NUM_BUFFERS=2, **given))
    after = module_of(upgraded(text).text, tmp_path, "upgraded")
    for depth in (2, 3, 4):
        assert torch.equal(bits(launched(after, NUM_BUFFERS=depth, **given)), before)


def test_a_chain_needs_no_second_place(tmp_path: Path) -> None:
    text, given = attention(VERSION), operands("attention", 3)
    alone = run(upgraded(text).text, tmp_path, NUM_BUFFERS=1, causal=True, **given)
    assert torch.equal(bits(alone), bits(run(text, tmp_path, NUM_BUFFERS=1, causal=True, **given)))


@pytest.mark.parametrize("fixture", ["matmul", "attention"])
def test_tiles_that_cp_async_brings_are_filled_later_too(fixture: str, tmp_path: Path) -> None:
    path = ROOT / "fixtures" / fixture / "expected" / "async-copy.py"
    text = path.read_text(encoding="utf-8")
    if VERSION in ("3.6", "3.7"):
        text = text.replace("async_copy.async_load", "async_copy.async_copy_global_to_shared")
    after = upgraded(text).text
    assert after != text
    given = operands(fixture, 4)
    results = []
    for one in (text, after):
        module = module_of(one, tmp_path, fixture)
        with emulated(target="sm_90"):
            if fixture == "matmul":
                found = module.matmul(given["a"], given["b"], BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4)
            else:
                parts = (given[name] for name in "qkv")
                found, _ = module.attention(*parts, causal=True, BLOCK_M=64, BLOCK_N=32, num_warps=4)
        results.append(found)
    assert torch.equal(*results)


# -- that a mistake would be found


FAULTS = [
    ("matmul", "dot_awaited(acc, 1)", "dot_awaited(acc, 2)", "overwrit|still read|in use|under way"),
    ("matmul", "a_ring.index(free), pred", "a_ring.index(slot), pred", "still|in use|read"),
    ("matmul", "    acc = dot_awaited(acc, 0)\n", "", "wait"),
    ("matmul", "static_range(NUM_BUFFERS - 1)", "static_range(NUM_BUFFERS)", "phase|pending|expect|still|copy"),
    ("attention", "qk = dot_awaited(qk, 1)", "qk = dot_awaited(qk, 2)", "wait"),
    ("attention", "            acc = dot_awaited(acc, 0)\n", "", "wait|accumulator"),
    ("attention", "v_ring.index(free), pred=more_v", "v_ring.index(slot), pred=more_v", "still|in use|read|copy"),
    ("attention", "            mbarrier.wait(v_ready.index(free), free_phase)\n", "", "copy|arriv|wait"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "words"), FAULTS)
def test_a_planted_fault_is_found(name: str, right: str, wrong: str, words: str, tmp_path: Path) -> None:
    text = upgraded(KERNELS[name](VERSION)).text
    assert text.count(right) >= 1
    given = operands(name, 5)
    run(text, tmp_path, NUM_BUFFERS=2, **given)
    with pytest.raises(EmulationError, match=words):
        run(text.replace(right, wrong), tmp_path, NUM_BUFFERS=2, **given)


# -- what it compiles to


def compiled(name: str, folder: Path, num_warps: int, depth: int) -> Resources:
    module = module_of(upgraded(KERNELS[name](VERSION)).text, folder, "compiled")
    if name == "attention":
        tiles = {"q_desc": [1, 16 * num_warps, 64], "k_desc": [1, 64, 64], "v_desc": [1, 64, 64]}
        others = {"out_ptr": "*bf16", "scale": "fp32", "n_queries": "i32", "n_keys": "i32", "CAUSAL": "constexpr"}
    else:
        tiles = {"a_desc": [16 * num_warps, 64], "b_desc": [64, 128]}
        others = {"c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    signature = {one: f"tensordesc<bf16[{','.join(map(str, shape))}]>" for one, shape in tiles.items()}
    constants = {"CAUSAL": True} if name == "attention" else {}
    entry = {
        "fn": getattr(module, "attention_kernel" if name == "attention" else "matmul_kernel"),
        "signature": {**signature, **others, "NUM_BUFFERS": "constexpr"},
        "constexprs": {**constants, "NUM_BUFFERS": depth},
        "num_warps": num_warps,
    }
    found = compile_kernel(entry, "sm_90")
    assert isinstance(found, Resources), found
    return found


def order(found: Resources) -> list[str]:
    """What the kernel does, in the order of the PTX: `mma` a run of instructions, `wait` for all but so many."""
    steps = []
    for line in found.ptx.splitlines():
        words = line.split()
        if "wgmma.commit_group" in line:
            steps.append("mma")
        elif "wgmma.wait_group" in line:
            steps.append(f"wait {words[-1].rstrip(';')}")
        elif "bar.sync" in line:
            steps.append("bar")
        elif "cp.async.bulk.tensor" in line:
            steps.append("copy")
    return steps


@pytest.mark.parametrize(("name", "num_warps"), [("matmul", 4), ("persistent", 8), ("attention", 4), ("attention", 8)])
def test_it_compiles_to_dots_that_overlap(name: str, num_warps: int, tmp_path: Path) -> None:
    found = compiled(name, tmp_path, num_warps, depth=2 if name == "attention" else 3)
    assert found.spills == 0
    steps = order(found)
    kept = [step for step in steps if step.startswith(("mma", "wait"))]
    if name == "attention":
        assert kept == ["mma", "wait 0", "mma", "mma", "wait 1", "wait 0", "mma", "wait 0"]
    else:
        # What is behind the inner loop of a persistent program stands before it in the PTX.
        assert kept in (["mma", "wait 1", "wait 0"], ["wait 0", "mma", "wait 1"])
    # Between a dot that is done and the copy over its tile all warps meet: two warpgroups read the tile.
    for place, step in enumerate(steps):
        if step == "copy" and any(one.startswith("wait") for one in steps[:place]):
            since = max(at for at, one in enumerate(steps[:place]) if one.startswith("wait"))
            assert "bar" in steps[since:place]


# -- what it leaves, and why


REFUSALS = [
    ("matmul", "        last = slot ==", "        largest = acc\n        last = slot ==", "used elsewhere"),
    ("matmul", "a = a_ring.index(slot)", "a = a_ring.index(slot).load(acc_layout)", "not a tile of a ring"),
    ("matmul", "slot = gl.where(last, 0, slot + 1)", "slot = gl.where(last, 0, slot + 2)", "does not go round by one"),
    ("matmul", "next_k = k + NUM_BUFFERS", "next_k = k + 2", r"not that of k \+ NUM_BUFFERS"),
    ("matmul", "i * BLOCK_K], a_ready", "i * 2 * BLOCK_K], a_ready", "not filled before the loop as it is in the loop"),
    ("matmul", "dot_added(a, b, acc)", "dot_exact(a, b, acc)", "dot_exact is no dot that can be left under way"),
    ("matmul", "acc = dot_added(a, b, acc)", "acc += dot_added(a, b, acc)", "is not one assignment of a dot"),
    ("matmul", "        acc = dot", "        if k > 1:\n            break\n        acc = dot", "its loop has a break"),
    ("matmul", "for k in range(stop):", "for k in range(0, stop, -step):", "not that of k - NUM_BUFFERS"),
    ("attention", "        m_i = m_new\n", "        m_i = m_new\n        seen = acc\n", "used elsewhere in the loop"),
    ("attention", "        m_i = m_new\n", "        m_i = m_new\n        seen = v\n", "tile is read elsewhere"),
    ("attention", "dot(p.to(v.dtype), v, acc)", "dot(staged(p.to(v.dtype), 0), v, acc)", "not a tile of a ring"),
    ("attention", "acc = dot(p.to", "other = dot(p.to", "is read in the same iteration"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "words"), REFUSALS)
def test_what_is_not_proved_stays_synchronous(name: str, right: str, wrong: str, words: str) -> None:
    text = KERNELS[name](VERSION)
    assert text.count(right) == 1
    changed = text.replace(right, wrong)
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="mma")
    found = upgrade_gluon(Conversion(changed, (), ()), changed, path="kernel.py", options=options)
    assert found.text == changed
    assert {one.code for one in found.diagnostics} == {"TP501"}
    for one in found.diagnostics:
        assert "stays synchronous" in one.message
        assert "dot" in changed.splitlines()[one.line - 1]
    assert any(re.search(words, one.message) for one in found.diagnostics)


@pytest.mark.parametrize("view", [False, True])
def test_a_tile_that_the_loop_copies_again_is_no_operand_of_a_dot_under_way(view: bool) -> None:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="tma")
    text = conversion(pointers(), options).text
    if view:
        tile, loop = "in_order(a_tile, a_order)", "    phase = 0\n"
        assert text.count(tile) == text.count(loop) == 1
        text = text.replace(tile, "turned").replace(loop, f"    turned = {tile}\n{loop}")
    found = upgrade_gluon(Conversion(text, (), ()), text, path="kernel.py", options=replace(options, stage="mma"))
    assert found.text == text
    name = "turned" if view else "a_tile"
    assert any(
        re.search(rf"operand {name} is no tile of a ring, and `load_tile\(.* may write to it", one.message)
        for one in found.diagnostics
    )


def test_a_function_that_is_only_named_like_one_of_the_port_is_not_taken_for_it() -> None:
    text = matmul(VERSION).replace(
        "return dot_as(a, b, acc, precision, True)", "return acc - dot_as(a, b, acc, precision, True)"
    )
    found = upgraded(text)
    assert found.text == text
    assert [one.code for one in found.diagnostics] == ["TP501"]


def test_other_architectures_are_refused_by_name() -> None:
    text = matmul("3.9")
    found = upgraded(text, "3.9", "sm_80")
    assert found.text == text
    assert "no form for sm_80" in found.diagnostics[0].message
