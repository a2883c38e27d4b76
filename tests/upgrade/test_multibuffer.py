"""Stage multibuffer: what it writes, that it computes the same, and that a mistake in it would be found."""

import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, innermost, module_of
from tests.upgrade.kernels import indexed
from tests.upgrade.ring_kernels import COMPILED, DATA, KERNELS, text_of
from tritonport.convert import ConvertOptions
from tritonport.source.module import SourceModule
from tritonport.upgrade.multibuffer import Finding, copies_of, multibuffered
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import EmulationError, emulated


def upgraded(text: str, version: str = VERSION, **options: Any) -> tuple[str, list[Finding]]:
    return multibuffered(SourceModule(text, "kernel.py"), target="sm_90", triton=version, **options)


@cache
def rings(name: str) -> str:
    return upgraded(text_of(name, VERSION))[0]


def run(text: str, folder: Path, steps: int, **options: Any) -> torch.Tensor:
    return launched(module_of(text, folder, "kernel"), steps, **options)


def launched(module: ModuleType, steps: int, **options: Any) -> torch.Tensor:
    with emulated(target="sm_90"):
        result: torch.Tensor = module.launch(steps, **options)
    assert not result.isnan().any()
    return result


# -- what it writes


@pytest.mark.parametrize("name", KERNELS)
def test_the_output_is_the_expected_file(name: str) -> None:
    text, findings = upgraded(text_of(name, "3.9"), "3.9")
    assert [one.tile for one in findings] == (["y_tile"] if name == "mixed" else [])
    assert text == (DATA / f"{name}.py").read_text(encoding="utf-8"), f"read what changed in {DATA / name}.py"
    assert upgraded(text, "3.9")[0] == text
    assert max(map(len, text.splitlines())) <= 120


def test_names_of_a_version_stay_and_the_header_says_it() -> None:
    old = upgraded(text_of("matmul", "3.6"), "3.6")[0]
    assert old.count("tma.async_copy_global_to_shared(") == 4
    assert "tma.async_load(" not in old
    assert "# tritonport: stage multibuffer for sm_90, Triton 3.6 to 3.8\n" in old
    assert (
        "# tritonport: stage multibuffer for sm_90, Triton 3.8 to 3.9\n" in upgraded(text_of("matmul", "3.9"), "3.9")[0]
    )


def test_a_barrier_by_its_own_function_becomes_a_batch() -> None:
    made = "gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())"
    text, findings = upgraded(text_of("matmul", "3.9").replace(made, "mbarrier.allocate_mbarrier()"), "3.9")
    assert findings == []
    assert "a_ready = mbarrier.allocate_mbarrier(batch=NUM_BUFFERS)\n" in text


def test_a_file_without_such_loops_stays_byte_for_byte() -> None:
    text = text_of("matmul", VERSION).replace("mbarrier.expect(", "print(")
    assert upgraded(text.replace("tma.async", "tma.other_async")) == (text.replace("tma.async", "tma.other_async"), [])


def test_only_the_asked_kernels_change() -> None:
    text = text_of("matmul", VERSION)
    assert upgraded(text, kernels=("another",)) == (text, [])
    assert upgraded(text, kernels=("matmul_kernel",))[0] == rings("matmul")


# -- how deep


def depth(name: str, folder: Path, **arguments: Any) -> int:
    module = module_of(rings(name), folder, "kernel")
    kernel = getattr(module, COMPILED[name][0])
    found: int = kernel.values["NUM_BUFFERS"](arguments)
    return found


def test_the_depth_is_what_the_launch_says_and_what_fits(tmp_path: Path) -> None:
    module = module_of(rings("attention"), tmp_path, "kernel")
    small = module.described(torch.zeros(64, 64, dtype=torch.float16), [16, 16])
    parts = {"q_desc": small, "k_desc": small, "v_desc": small}
    assert depth("attention", tmp_path, **parts) == 3
    assert depth("attention", tmp_path, **parts, num_stages=5) == 5
    assert depth("attention", tmp_path, **parts, num_stages=1) == 2
    assert depth("attention", tmp_path, **parts, num_stages=5, NUM_BUFFERS=7) == 7
    large = module.described(torch.zeros(256, 128, dtype=torch.float16), [256, 64])
    # 32 KiB each: 227 KiB hold three of keys and values, and not another one of queries beside them.
    parts = {"q_desc": small, "k_desc": large, "v_desc": large}
    assert depth("attention", tmp_path, **parts, num_stages=8) == 3
    whole = module.described(torch.zeros(256, 256, dtype=torch.float16), [256, 256])
    assert depth("attention", tmp_path, q_desc=whole, k_desc=large, v_desc=large, num_stages=8) == 1
    assert depth("attention", tmp_path, q_desc=None, k_desc=None, v_desc=None) == 3


def test_the_hint_of_a_loop_goes_before_the_stages_of_a_launch() -> None:
    text = text_of("matmul", VERSION).replace("range(gl.cdiv(K, BLOCK_K))", "range(gl.cdiv(K, BLOCK_K), num_stages=4)")
    text = upgraded(
        text.replace(
            "    for k in", "    # tritonport: TP106 num_stages=4 is a hint that nothing acts on\n    for k in"
        )
    )[0]
    assert '["a_desc", "b_desc"], num_stages=4, shared_memory=232448' in " ".join(text.split())
    assert "for k in range(stop):" in text
    assert "TP106" not in text


def test_a_block_size_with_a_default_is_a_step_upward() -> None:
    text = indexed().replace("BLOCK_K: tl.constexpr)", "BLOCK_K: tl.constexpr = 16)")
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="multibuffer")
    found = conversion(text, options)
    assert 'args.get("BLOCK_K", 16)' in found.text
    assert "a_ring.index(slot)" in found.text
    assert {one.code for one in found.diagnostics} <= {"TP106"}


def test_a_configuration_may_sweep_the_depth(tmp_path: Path) -> None:
    text = text_of("matmul", VERSION).replace(
        "@gluon.jit\ndef matmul_kernel(",
        "@triton.autotune([triton.Config({}, num_stages=2), triton.Config(dict(NUM_BUFFERS=4))], key=[])\n"
        "@gluon.jit\ndef matmul_kernel(",
    )
    text = upgraded(text)[0]
    assert text.index("@triton.autotune(") < text.index("@triton.heuristics(") < text.index("def matmul_kernel(")
    expected = run(text_of("matmul", VERSION), tmp_path, 3)
    torch.testing.assert_close(run(text, tmp_path, 3), expected, rtol=0, atol=0)


# -- that it computes the same

EVERY = [(steps, depth) for steps in range(6) for depth in range(1, 5)]
SOME = [(0, 2), (1, 3), (2, 2), (4, 1), (5, 2), (3, 4)]


@pytest.mark.parametrize("name", KERNELS)
def test_it_computes_the_same_at_every_depth_and_trip_count(name: str, tmp_path: Path) -> None:
    cases = EVERY if name in ("attention", "hand_written") else SOME
    before, after = (module_of(text, tmp_path, "kernel") for text in (text_of(name, VERSION), rings(name)))
    wanted = {steps: launched(before, steps) for steps in {steps for steps, _ in cases}}
    for steps, buffers in cases:
        got = launched(after, steps, NUM_BUFFERS=buffers)
        assert torch.equal(got, wanted[steps]), f"{steps} iterations, {buffers} buffers"


# -- that a mistake in it would be found

FAULTS = {
    "the wrong phase": ("attention", 5, "wait(k_ready.index(slot), phase)", "wait(k_ready.index(slot), phase ^ 1)"),
    "a phase that never flips": ("attention", 5, "gl.where(last, phase ^ 1, phase)", "gl.where(last, phase, phase)"),
    "a copy without predicate": ("attention", 5, "v_ring.index(slot), pred=more)", "v_ring.index(slot))"),
    "a copy into the next place": (
        "attention",
        5,
        "k_ring.index(slot), pred=more)",
        "k_ring.index((slot + 1) % NUM_BUFFERS), pred=more)",
    ),
    "a place that stays": ("persistent", 5, "slot = gl.where(last, 0, slot + 1)", "slot = gl.where(last, 0, slot)"),
    "a prologue that begins at 0": ("persistent", 1, "place = (slot + i) % NUM_BUFFERS", "place = i"),
}
"""Per fault the file, the number of iterations, what is right and what is put in its place."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    name, steps, right, wrong = FAULTS[fault]
    text = rings(name)
    assert right in text
    with pytest.raises(EmulationError):
        run(text.replace(right, wrong), tmp_path, steps, NUM_BUFFERS=2)


def test_a_refill_before_the_last_read_is_found(tmp_path: Path) -> None:
    text = rings("attention")
    start = text.index("        mbarrier.expect(v_ready.index(slot)")
    end = text.index("        last = slot")
    refill = text[start:end]
    early = text[:start] + text[end:]
    dot = "        acc = warpgroup_mma(p, v, acc)\n"
    assert dot in early
    with pytest.raises(EmulationError):
        run(early.replace(dot, refill + dot), tmp_path, 5, NUM_BUFFERS=2)


# -- what it compiles to


def compiled(name: str, folder: Path) -> Resources:
    kernel_name, types, constants = COMPILED[name]
    kernel = innermost(getattr(module_of(rings(name), folder, "compiled"), kernel_name))
    constants = dict(constants, NUM_BUFFERS=3)
    kinds = {"out_ptr": "*fp32", **types, **dict.fromkeys(constants, "constexpr")}
    signature = {parameter.name: kinds.get(parameter.name, "i32") for parameter in kernel.params}
    found = compile_kernel({"fn": kernel, "signature": signature, "constexprs": constants, "num_warps": 4}, "sm_90")
    assert isinstance(found, Resources), found
    return found


def loops_of(ptx: str) -> list[str]:
    """The bodies of the innermost loops, as the instructions that order shared memory."""
    kinds = r"bar\.sync|mbarrier\.try_wait|mbarrier\.arrive|cp\.async\.bulk|wgmma\.wait_group|fence\.proxy|ld\.shared"
    bodies = re.findall(r"\n(\$L__BB0_\d+):(?:(?!\n\$L__BB0_).)*?bra[ \t]+\1;", ptx, re.DOTALL)
    found = []
    for label in bodies:
        body = ptx[ptx.index(f"\n{label}:") :]
        body = body[: re.search(rf"bra[ \t]+{re.escape(label)};", body).end()]  # type: ignore[union-attr]
        found.append(" ".join(re.findall(kinds, body)))
    return [one for one in found if "cp.async.bulk" in one]


@pytest.mark.parametrize("name", ["attention", "batched", "hand_written"])
def test_all_warps_have_read_a_tile_before_its_place_is_filled_again(name: str, tmp_path: Path) -> None:
    found = loops_of(compiled(name, tmp_path).ptx)
    assert found
    for one in found:
        read = "ld.shared" if name == "batched" else "wgmma.wait_group"
        for part in one.split(read)[1:]:
            before = part.partition("cp.async.bulk")[0]
            assert "bar.sync" in before, one
            if name == "batched":
                # Reads by threads and writes by the copy engine go through different proxies.
                assert "fence.proxy" in before, one


@pytest.mark.parametrize(
    "name", ["matmul", "paged", "two_loops", "persistent", "writing", "mixed", "nested", "branches", "helpers"]
)
def test_it_compiles(name: str, tmp_path: Path) -> None:
    assert compiled(name, tmp_path).spill_stores == 0


# -- what stays

LOAD = "        mbarrier.expect(x_ready, x_desc.block_type.nbytes)\n"
USE = "        acc += x_tile.load(layout).to(gl.float32) * weight\n"
END = "    mbarrier.invalidate(x_ready)\n"
REFUSED = {
    "a break": (USE, f"{USE}        if seen > 9:\n            break\n", "may end early (`break`)"),
    "a return": (USE, f"{USE}        if seen > 9:\n            return\n", "may end early (`return`)"),
    "a while loop": ("    for j in range(pages):\n", "    j = 0\n    while j < pages:\n", "is a while loop"),
    "a constant index of a load": ("in range(pages)", "in gl.static_range(pages)", "on j by more than arithmetic"),
    "a step of any sign": ("in range(pages)", "in range(0, pages, offset)", "step offset of its loop"),
    "a read behind the loop": (END, f"{END}    acc += x_tile.load(layout)\n", "used outside of the loop"),
    "a name that is carried": (USE, f"        kept = x_tile\n{USE}", "kept may stand for its tile"),
    "a read before the wait": (LOAD, f"        acc += x_tile.load(layout)\n{LOAD}", "read before the wait"),
    "a write to the tile": (USE, f"        x_tile.store(acc.to(gl.float16))\n{USE}", "writes to it"),
    "a read that goes on": (USE, f"{USE}        tma.store_later(x_desc, [row, 0], x_tile)\n", "may read it later"),
    "a copy under an if": (
        LOAD,
        "        if j > 2:\n            tma.ANOTHER(x_desc, [0, 0], x_ready, x_tile)\n" + LOAD,
        "under an if",
    ),
    "a second wait": (USE, f"{USE}        mbarrier.wait(x_ready, phase)\n", "expect and await x_ready once each"),
    "a wait in a branch": (
        USE,
        f"{USE}        if j > 2:\n            mbarrier.wait(x_ready, phase)\n",
        "in other ways",
    ),
    "a predicate": ("nbytes)\n", "nbytes, pred=j > 1)\n", "under the condition j > 1"),
    "two arrivals": ("init(x_ready, count=1)", "init(x_ready, count=2)", "is not initialised once"),
    "a phase of its own": ("wait(x_ready, phase)", "wait(x_ready, j // 2 & 1)", "is not counted from 0"),
    "a phase that is not toggled": ("        phase = 1 - phase\n", "", "is not toggled once"),
    "coordinates from a tile": (
        "page = gl.load(table_ptr + j)",
        "page = gl.max(gl.max(acc, 1), 0).to(gl.int32)",
        "cannot run ahead",
    ),
    "coordinates from a branch": (LOAD, f"        if j > 2:\n            row = 0\n{LOAD}", "depends on a branch"),
    "a write to what it reads": (
        USE,
        f"{USE}        gl.store(table_ptr + j, 0)\n",
        "nothing says what x_desc describes",
    ),
    "an atomic": (USE, f"{USE}        gl.atomic_add(table_ptr, 1)\n", "an atomic operation"),
    "a helper with an unmasked read": ("page = gl.load(table_ptr + j)", "page = page_of(table_ptr, j)", "page_of"),
    "an inspected kernel": ("def launch(", "print(paged_kernel.fn)\n\n\ndef launch(", "no launch can say how deep"),
}
EXTRA = """
@gluon.jit
def page_of(table_ptr, j):
    return gl.load(table_ptr + j)


"""


@pytest.mark.parametrize("case", REFUSED)
def test_what_stays_says_copy_condition_and_line(case: str) -> None:
    old, new, words = REFUSED[case]
    text = text_of("paged", "3.9")
    if case == "a name that is carried":
        text = text.replace("    seen = 0\n", "    seen = 0\n    kept = x_tile\n").replace(
            USE, USE.replace("x_tile", "kept")
        )
        old, new = USE.replace("x_tile", "kept"), USE.replace("x_tile", "kept") + "        kept = x_tile\n"
    assert old in text
    new = new.replace("ANOTHER", "async_load").replace("tma.store_later", "tma.async_store")
    text = text.replace(old, new).replace(
        "@gluon.jit\ndef paged_kernel", f"{EXTRA.lstrip()}@gluon.jit\ndef paged_kernel"
    )
    got, findings = upgraded(text, "3.9")
    assert got == text
    assert words in " / ".join(one.text for one in findings), [one.text for one in findings]
    lines = text.splitlines()
    for one in findings:
        assert (one.code, one.kernel, one.tile, one.descriptor) == ("TP303", "paged_kernel", "x_tile", "x_desc")
        assert "tma.async_load(x_desc" in lines[one.line - 1]
    assert {one.finding for one in copies_of(SourceModule(text, "kernel.py"), "sm_90")} == set(findings)


def test_a_store_to_the_tensor_that_is_read_keeps_the_loop() -> None:
    text = text_of("writing", VERSION)
    own = text.replace("scan_tiles(x_desc, out_ptr,", "scan_tiles(x_desc, x_ptr,").replace(
        "def scan_tiles(x_desc, x_ptr,", "def scan_tiles(x_desc, out_ptr,"
    )
    got, findings = upgraded(own)
    assert got == own
    assert [one.text for one in findings] == ["its loop writes to out_ptr"]


def test_a_store_through_a_descriptor_of_the_tensor_that_is_read_keeps_the_loop() -> None:
    text = text_of("writing", "3.9").replace("(x_desc, out_ptr, n,", "(x_desc, y_desc, out_ptr, n,")
    text = text.replace("BLOCK: gl.constexpr, x_desc)", "BLOCK: gl.constexpr, x_desc, y_desc)")
    made = '"x_desc": lambda args: described(args["x_ptr"], [args["BLOCK"], 16])'
    text = text.replace(made, f"{made}, {made.replace('x_desc', 'y_desc')}")
    store = "        store_rows(out_ptr, total, i * BLOCK, 16, n * BLOCK)\n"
    assert upgraded(text, "3.9")[1] == []
    findings = upgraded(text.replace(store, f"{store}        tma.async_store(y_desc, [0, 0], other)\n"), "3.9")[1]
    assert [one.text for one in findings] == ["its loop writes to y_desc"]


def test_a_function_that_copies_without_predicate_is_said() -> None:
    text = text_of("helpers", VERSION).replace(", on=True):", "):").replace(", pred=on)", ")")
    got, findings = upgraded(text)
    assert got == text
    assert [one.text for one in findings] == ["fetch begins it without a predicate, so also beyond the end"]


def test_another_target_has_no_such_copies() -> None:
    text = text_of("matmul", VERSION)
    got, findings = multibuffered(SourceModule(text, "kernel.py"), target="sm_80", triton=VERSION)
    assert got == text
    assert {one.text for one in findings} == {"sm_80 has no copies of tiles that barriers await"}
