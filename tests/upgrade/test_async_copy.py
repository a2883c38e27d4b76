"""Stage async-copy: what it writes, that it computes the same, and that a mistake in it would be found."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.kernels import indexed, matmul
from tritonport.convert import Conversion, ConvertOptions
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import EmulationError, emulated

TARGETS = ("sm_80", "sm_90")


def upgraded(text: str, target: str = "sm_80", version: str = VERSION) -> Conversion:
    return conversion(text, ConvertOptions(triton=version, target=target, stage="async-copy"))


def run(text: str, folder: Path, target: str, **arguments: Any) -> torch.Tensor:
    module = module_of(text, folder, "kernel")
    with emulated(target=target):
        result: torch.Tensor = module.launch(**arguments)
    return result


def operands(m: int, n: int, k: int, dtype: torch.dtype, form: str) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(m + n + k)

    def made(rows: int, cols: int) -> torch.Tensor:
        # Quarters: sums are exact, so any order gives the same bits.
        values = (torch.randint(-8, 9, (rows, cols), generator=generator).float() / 4).to(dtype)
        if form == "transposed":
            return values.t().contiguous().t()
        if form == "strided":
            return torch.stack([values, values * 0 + 9], dim=2).flatten(1)[:, ::2]
        if form == "misaligned":
            return torch.cat([torch.zeros(1, dtype=dtype), values.flatten()])[1:].view(rows, cols)
        return values

    return {"a": made(m, k), "b": made(k, n)}


# -- what it writes


def test_the_loop_is_a_ring_with_prologue_steady_state_and_drain() -> None:
    text = upgraded(matmul(), version="3.9").text
    expected = """
    for i in gl.static_range(NUM_BUFFERS):
        early_left = K - i * BLOCK_K
        start_copy(a_ring.index(i), a_ptrs, (offs_k_a[None, :] < early_left) & (i < stop), A_ASYNC)
        start_copy(b_ring.index(i), b_ptrs, (offs_k_b[:, None] < early_left) & (i < stop), B_ASYNC)
        async_copy.commit_group()
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    slot = 0
    for k in range(stop):
        # This iteration's tiles are in the oldest of the NUM_BUFFERS groups under way.
        async_copy.wait_group(NUM_BUFFERS - 1)
        a = arrived(a_ring.index(slot), a_layout, acc_layout)
        a_smem = dot_operand(a, 0, acc_layout)
        b = arrived(b_ring.index(slot), b_layout, acc_layout)
        b_smem = dot_operand(b, 1, acc_layout)
        acc = dot(a_smem, b_smem, acc)
        next_k = k + NUM_BUFFERS
        # What is left of K.
        left = K - next_k * BLOCK_K
        start_copy(a_ring.index(slot), a_ptrs, (offs_k_a[None, :] < left) & (next_k < stop), A_ASYNC)
        start_copy(b_ring.index(slot), b_ptrs, (offs_k_b[:, None] < left) & (next_k < stop), B_ASYNC)
        async_copy.commit_group()
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
        slot = gl.where(slot == NUM_BUFFERS - 1, 0, slot + 1)
    async_copy.wait_group(0)
"""
    assert expected in text


def test_a_launch_says_the_depth_and_what_can_be_copied() -> None:
    text = upgraded(matmul(), version="3.9").text
    assert '"NUM_BUFFERS": lambda args: max(args.get("num_stages", 3) - 1, 1),' in text
    assert '"stride_ak": ["BLOCK_K", "K", "stride_am"]' in " ".join(text.split())
    assert "# tritonport: stages literal, async-copy for sm_80, Triton 3.8 to 3.9\n" in text


def test_a_hint_of_the_loop_says_its_depth() -> None:
    text = upgraded(indexed(4)).text
    assert "    NUM_BUFFERS: gl.constexpr = ring_depth(4)\n" in text
    assert "NUM_BUFFERS: gl.constexpr," not in text
    assert "    slot = 0\n    for start in range(first, K, BLOCK_K):\n" in text
    assert "TP106" not in text


def test_what_both_sides_need_is_computed_for_both_iterations() -> None:
    text = upgraded(indexed()).text
    assert "        next_left = K - next_start\n" in text
    assert "steps_a[None, :] < next_left" in text
    assert "        left = K - start\n" in text
    assert "seen += min(left, BLOCK_K)" in text


def test_the_literal_port_of_a_file_gives_the_same_and_so_does_a_second_run() -> None:
    text = matmul()
    literal = conversion(text, ConvertOptions(triton=VERSION, target="sm_80")).text
    once = upgraded(text).text
    assert upgraded(literal).text == once
    assert upgraded(once).text == once
    assert conversion(once, ConvertOptions(triton=VERSION, target="sm_80")).text == once


def test_functions_of_the_file_keep_their_names(tmp_path: Path) -> None:
    text = matmul() + "\n\ndef arrived(parcel):\n    return parcel\n\n\ndef copies_words(text):\n    return text\n"
    port = upgraded(text).text
    assert "def arrived(parcel):" in port
    assert "a = arrived_2(a_ring.index(slot), a_layout, acc_layout)" in port
    assert "    if copies_words_2(pointers.type.layout, " in port
    given = operands(20, 40, 50, torch.float16, "plain")
    got = run(port, tmp_path, "sm_80", **given)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)


def test_names_follow_the_version() -> None:
    assert "async_copy.async_load(" in upgraded(matmul(), version="3.8").text
    old = upgraded(matmul(), version="3.6").text
    assert "async_copy.async_copy_global_to_shared(" in old
    assert "async_load(" not in old
    assert "Triton 3.6 to 3.8\n" in old


def test_hints_of_a_load_go_with_its_copy(tmp_path: Path) -> None:
    text = matmul().replace("left, other=FILL", "left, other=0.0")
    text = text.replace("< left, other=0.0)", '< left, other=0.0, eviction_policy="evict_last")', 1)
    port = upgraded(text).text
    assert port.count('"evict_last"') == 2
    assert port.count("start_cached_copy(") == 3
    assert port.count("start_copy(") == 3
    assert copies(compiled(port, tmp_path, "sm_80", aligned=True)) > 0


def test_a_tile_that_has_its_name_elsewhere_too_is_read_into_registers(tmp_path: Path) -> None:
    text = matmul().replace("    for k in", "    a = tl.load(a_ptrs) * 0\n    for k in")
    port = upgraded(text).text
    assert "a = a_ring.index(slot).load(a_layout)" in port
    given = operands(64, 32, 96, torch.float16, "plain")
    got = run(port, tmp_path, "sm_80", **given)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)


def test_two_loads_of_one_name_have_a_ring_each(tmp_path: Path) -> None:
    once = "        acc += tl.dot(a, b)\n"
    again = "        a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)\n"
    text = upgraded(matmul().replace(once, once + again + once)).text
    assert "a_ring_2 = gl.allocate_shared_memory(" in text
    given = operands(20, 40, 50, torch.float16, "plain")
    got = run(text, tmp_path, "sm_80", **given)
    torch.testing.assert_close(got, 2 * (given["a"].float() @ given["b"].float()), rtol=0, atol=0)


@pytest.mark.parametrize("names", ['["a_ptr"]', "NAMES"])
def test_a_pointer_that_triton_does_not_specialise_shows_no_runs(names: str) -> None:
    text = matmul().replace("@triton.jit\n", f"@triton.jit(do_not_specialize={names})\n")
    found = upgraded(text)
    assert "a_ring" not in found.text
    assert "TP302" in {one.code for one in found.diagnostics}


@pytest.mark.parametrize("names", ['["K"]', "[5]"])
def test_a_bound_that_triton_does_not_specialise_shows_no_runs_along_it(names: str) -> None:
    text = " ".join(
        upgraded(matmul().replace("@triton.jit\n", f"@triton.jit(do_not_specialize={names})\n")).text.split()
    )
    assert '"a_ptr", {"stride_am": ["BLOCK_M", "M", "stride_ak"]}' in text
    assert '"b_ptr", {"stride_bn": ["BLOCK_N", "N", "stride_bk"]}' in text


UNEVEN = {
    # What an address of the rows is a multiple of, and where a mask may change along a row.
    "a_ptr + (offs_m // 2)[:, None] * 32 + offs_k[None, :]": "{None: []}",
    "a_ptr + (offs_m // 2 * stride_am)[:, None] + offs_k[None, :]": '{None: ["stride_am"]}',
    "a_ptr + ((offs_m // 2) * stride_am + offs_m % 2)[:, None] + offs_k[None, :] * 16": None,
    "a_ptr + (offs_m % 7 // 2)[:, None] * N + (k % 2 * BLOCK_K + offs_k)[None, :]": '{None: ["BLOCK_K", "N"]}',
    "a_ptr + offs_m[:, None] * stride_am + (k * k * BLOCK_K + offs_k)[None, :]": '{None: ["BLOCK_K", "stride_am"]}',
}


@pytest.mark.parametrize("address", UNEVEN)
def test_rows_anywhere_are_copied_where_each_begins_at_a_multiple(address: str) -> None:
    load = "a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)"
    found = upgraded(matmul().replace(load, f"a = tl.load({address})"))
    text = " ".join(found.text.split())
    if UNEVEN[address] is None:
        assert "a_ring" not in text
    else:
        assert f'"A_ASYNC": lambda args: copies_in_runs(args, "a_ptr", {UNEVEN[address]})' in text


def test_a_start_is_asked_for_as_it_is_where_the_loop_begins() -> None:
    head = "    acc = tl.zeros("
    for moved, runs in (
        ("", '["BLOCK_K", "K", "first"]'),
        ("first + 3", None),
        ("first * 16 + 32", '["BLOCK_K", "K"]'),
    ):
        line = f"    first = {moved}\n{head}" if moved else head
        text = " ".join(upgraded(indexed().replace(head, line, 1)).text.split())
        assert (f'copies_in_runs(args, "a_ptr", {{None: {runs}}})' in text) == (runs is not None)
        assert ("a_ring" in text) == (runs is not None)


FUNCTIONS = """
@triton.jit
def checked(i):
    tl.device_assert(i >= 0)
    return i


@triton.jit
def taken(p):
    return counted(p)


@triton.jit
def counted(p):
    return tl.atomic_add(p, 1)


@triton.jit
def put(p, x):
    tl.store(p, x)


@triton.jit
def half(i):
    return i // 2


@triton.jit
def matmul_kernel("""
LEFT = "        left = K - k * BLOCK_K\n"
ACTS = {
    LEFT.replace("k *", "checked(k) *"): "copied from depends on checked, which does more than compute a number",
    LEFT.replace("k *", "taken(c_ptr) *"): "copied from depends on taken, which does more than compute a number",
    f"{LEFT}        put(a_ptr + left, 1.0)\n": "its loop gives a_ptr to put, which writes memory",
    f"{LEFT}        put(c_ptr + left, 1.0)\n": None,
    LEFT.replace("k *", "half(k) *"): None,
}


@pytest.mark.parametrize("line", ACTS)
def test_what_a_function_of_the_file_does_is_seen(line: str) -> None:
    text = matmul().replace("@triton.jit\ndef matmul_kernel(", FUNCTIONS.lstrip("\n"))
    found = upgraded(text.replace(LEFT, line))
    said = [one.message for one in found.diagnostics if one.code == "TP301"]
    assert ("a_ring" in found.text) == (ACTS[line] is None)
    assert not said if ACTS[line] is None else all(str(ACTS[line]) in one for one in said)


@pytest.mark.parametrize(
    ("number", "tensor"),
    [
        ("(k - 2) // 2 + 4", True),
        ("(k - 2) % 2 + 4", True),
        ("half(k) + 4", True),
        ("k // 2", False),
        ("k * 2 - 1", False),
    ],
)
def test_an_index_is_divided_ahead_as_in_its_iteration(number: str, tensor: bool, tmp_path: Path) -> None:
    text = matmul().replace("@triton.jit\ndef matmul_kernel(", FUNCTIONS.lstrip("\n"))
    text = text.replace(LEFT, f"        left = K - ({number}) * BLOCK_K\n")
    port = upgraded(text).text
    assert ("gl.to_tensor(i)" in port) == tensor
    given = operands(72, 40, 130, torch.float16, "plain")
    got = run(port, tmp_path, "sm_80", **given) if tensor else None
    if got is not None:
        torch.testing.assert_close(got, run(text, tmp_path, "sm_80", **given), rtol=0, atol=0)


@pytest.mark.parametrize("mask", ["((offs_m // 3 + k) % 2 == 0)[:, None]", "((offs_m // 3 + k) % 2 > 0)[:, None]"])
def test_rows_anywhere_give_the_same(mask: str, tmp_path: Path) -> None:
    load = "a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)"
    address = "a_ptr + (offs_m // 2)[:, None] * 64 + (k % 2 * BLOCK_K + offs_k)[None, :]"
    original = matmul().replace(load, f"a = tl.load({address}, mask={mask}, other=0.0)")
    given = operands(40, 32, 64, torch.float16, "plain")
    literal = conversion(original, ConvertOptions(triton=VERSION, target="sm_90")).text
    text = upgraded(original, "sm_90").text
    assert ("a_ring" in text) == (">" in mask)
    assert torch.equal(run(text, tmp_path, "sm_90", **given), run(literal, tmp_path, "sm_90", **given))


def test_a_statement_may_compute_with_its_load(tmp_path: Path) -> None:
    load = "a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)"
    text = upgraded(matmul().replace(load, f"{load}.to(tl.float32).to(b_ptr.dtype.element_ty)"), "sm_90").text
    assert "a = a_ring.index(slot).load(a_layout).to(gl.float32).to(b_ptr.dtype.element_ty)\n" in text
    given = operands(70, 40, 80, torch.float16, "plain")
    assert torch.equal(run(text, tmp_path, "sm_90", **given), given["a"].float() @ given["b"].float())


@pytest.mark.parametrize("num_stages", [2, 3, 4])
def test_what_a_statement_computes_beside_its_load_is_of_its_own_iteration(num_stages: int, tmp_path: Path) -> None:
    load = "a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)"
    lines = [
        "first = (offs_k < left - BLOCK_K)[None, :]",
        load.replace("offs_k[None, :] < left", "first") + " * tl.where(first, 2.0, 1.0).to(tl.float16)",
    ]
    original = matmul().replace(load, "\n        ".join(lines))
    # Another statement that needs the mask would have it stay in the loop.
    assert original.count("first") == 3
    text = upgraded(original, "sm_90").text
    assert "a_ring" in text
    given = operands(70, 40, 150, torch.float16, "plain")
    whole = 150 // 32 * 32
    a = given["a"].float()
    a[:, whole:] = 0
    left = 150 - torch.arange(150) // 32 * 32 - 32
    a[:, torch.arange(150) % 32 >= left] = 0
    expected = 2 * a @ given["b"].float()
    assert torch.equal(run(text, tmp_path, "sm_90", **given, num_stages=num_stages), expected)


def test_a_number_out_of_memory_says_nothing_of_runs_and_a_factor_beside_it_does() -> None:
    """`first * K` is a multiple of 16 with K; the load of `first` is not asked again for a later iteration."""
    ahead = "    acc = tl.zeros("
    load = "a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)"
    for number, runs in (("* K", '{None: ["BLOCK_K", "K"]}'), ("", None)):
        text = matmul().replace(ahead, f"    first = tl.load(c_ptr).to(tl.int32)\n{ahead}", 1)
        address = f"a_ptr + (first {number}) + offs_m[:, None] * K + (k * BLOCK_K + offs_k)[None, :]"
        text = upgraded(text.replace(load, f"a = tl.load({address}, mask=offs_k[None, :] < left, other=0.0)")).text
        if runs is None:
            assert "a_ring" not in text
        else:
            assert f'"A_ASYNC": lambda args: copies_in_runs(args, "a_ptr", {runs})' in " ".join(text.split())


REFUSED = {
    "if k > 2:\n            a = tl.load(a_ptrs)": ("TP302", "it stands under an if in the loop"),
    "a = tl.load(a_ptrs) * tl.load(a_ptrs + 1)": ("TP302", "its statement computes more"),
    "a = tl.load(a_ptr + tl.load(b_ptr + offs_m).to(tl.int32)[:, None] + offs_k[None, :])": (
        "TP411",
        "read from memory",
    ),
    "a = tl.load(a_ptr + offs_m[:, None] * 32 + (offs_k // 2)[None, :])": ("TP302", "no dimension of the tile is"),
    "a = tl.load(a_ptr + (offs_m // 2)[:, None] * 30 + offs_k[None, :])": ("TP302", "nothing in the launch shows"),
    "tl.store(a_ptrs, k)\n        a = tl.load(a_ptrs)": ("TP301", "its loop writes to a_ptr"),
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_is_left_says_access_condition_and_line(statement: str) -> None:
    load = "a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)"
    text = matmul().replace(load, statement)
    conversion = upgraded(text)
    code, words = REFUSED[statement]
    found = [one for one in conversion.diagnostics if words in one.message]
    assert [(one.code, one.kernel) for one in found][:1] == [(code, "matmul_kernel")]
    assert "the load of a" in found[0].message
    assert "a = tl.load(" in text.splitlines()[found[0].line - 1]
    assert "a_ring" not in conversion.text


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn, torch.int8])
def test_a_copy_through_registers_fills_in_zero_of_every_type(dtype: torch.dtype, tmp_path: Path) -> None:
    rows = torch.arange(64 * 41).view(64, 41) % 7 - 3
    # Rows of 41 bytes: nothing that cp.async could copy, and a depth that no block divides.
    given = {"a": rows.float().to(dtype), "b": rows.t()[:, :32].contiguous().float().to(dtype)}
    got = run(upgraded(matmul(), "sm_90").text, tmp_path, "sm_90", **given)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)


# -- that it computes the same


@pytest.mark.parametrize("form", ["plain", "transposed", "strided", "misaligned"])
@pytest.mark.parametrize("shape", [(70, 40, 50), (64, 32, 64), (5, 3, 7), (33, 48, 0), (64, 32, 32)])
def test_it_computes_the_same_for_any_shape_and_stride(shape: tuple[int, int, int], form: str, tmp_path: Path) -> None:
    given = operands(*shape, torch.float16, form)
    expected = given["a"].float() @ given["b"].float()
    for target in TARGETS:
        got = run(upgraded(matmul(), target).text, tmp_path, target, **given)
        torch.testing.assert_close(got, expected, rtol=0, atol=0)


@pytest.mark.parametrize("num_stages", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_every_depth_is_right(num_stages: int, dtype: torch.dtype, tmp_path: Path) -> None:
    given = operands(20, 40, 100, dtype, "plain")
    expected = given["a"].float() @ given["b"].float()
    got = run(upgraded(matmul()).text, tmp_path, "sm_80", **given, num_stages=num_stages)
    torch.testing.assert_close(got, expected, rtol=0, atol=0)


@pytest.mark.parametrize("first", [0, 3, 16, 60])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_bounds_of_a_loop_are_kept(first: int, stages: int, tmp_path: Path) -> None:
    given = operands(16, 16, 60, torch.float16, "plain")
    rest = given["a"].float()[:, first:] @ given["b"].float()[first:] + (60 - first)
    got = run(upgraded(indexed(stages)).text, tmp_path, "sm_80", **given, first=first)
    torch.testing.assert_close(got, rest, rtol=0, atol=0)


def test_another_fill_value_is_masked_in_again(tmp_path: Path) -> None:
    text = upgraded(matmul("1.0")).text
    assert "a = gl.where(offs_k_a[None, :] < left, a_ring.index(slot).load(a_layout), 1.0)" in text
    given = operands(20, 40, 50, torch.float16, "plain")
    original = run(
        matmul("1.0").replace("b_ptrs, mask=offs_k[:, None] < left, other=0.0", "b_ptrs"),
        tmp_path,
        "sm_80",
        a=given["a"][:, :32],
        b=given["b"][:32],
    )
    assert original.isfinite().all()
    got = run(text, tmp_path, "sm_80", **given)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)


# -- that a mistake in it would be found

FAULTS = {
    "a wait count one too high": ("sm_80", "wait_group(NUM_BUFFERS - 1)", "wait_group(NUM_BUFFERS)", "wait_group"),
    "a tile copied into the next slot": (
        "sm_80",
        "start_copy(a_ring.index(slot)",
        "start_copy(a_ring.index((slot + 1) % NUM_BUFFERS)",
        "a_ring",
    ),
    "a tile read one slot off": ("sm_80", "arrived(b_ring.index(slot)", "arrived(b_ring.index(1 - slot)", "b_ring"),
    "a group that is never committed": (
        "sm_80",
        "& (i < stop), B_ASYNC)\n        async_copy.commit_group()\n",
        "& (i < stop), B_ASYNC)\n",
        "wait_group",
    ),
    "no fence before the warpgroup instruction": ("sm_90", "        fence_async_shared()\n", "", "fence_async_shared"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    target, right, wrong, words = FAULTS[fault]
    text = upgraded(matmul(), target).text
    assert right in text
    given = operands(64, 32, 128, torch.float16, "plain")
    run(text, tmp_path, target, **given)
    with pytest.raises(EmulationError, match=words):
        run(text.replace(right, wrong), tmp_path, target, **given)


# -- what it compiles to


def compiled(text: str, folder: Path, target: str, aligned: bool, num_stages: int = 3) -> Resources:
    module = module_of(text, folder, "compiled")
    pointers = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32"}
    numbers = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32")
    units = {"stride_ak": 1, "stride_bn": 1}
    sizes = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    entry = {
        "fn": module.matmul_kernel,
        "signature": {**pointers, **numbers, **dict.fromkeys([*units, *sizes], "constexpr")},
        "constexprs": {**units, **sizes},
        "num_warps": 4,
        "num_stages": num_stages,
    }
    if not aligned:
        entry["attrs"] = {}
    found = compile_kernel(entry, target, as_launched=True)
    assert isinstance(found, Resources), found
    return found


def copies(found: Resources) -> int:
    return sum(access.instructions for access in found.accesses if access.kind == "async")


@pytest.mark.parametrize("num_stages", [2, 3, 4])
def test_it_has_the_resources_of_tritons_own_pipeline(num_stages: int, tmp_path: Path) -> None:
    original = compiled(matmul(), tmp_path, "sm_80", True, num_stages)
    port = compiled(upgraded(matmul()).text, tmp_path, "sm_80", True, num_stages)
    assert copies(port) == copies(original) > 0
    assert port.shared == original.shared
    assert port.registers <= 1.1 * original.registers


@pytest.mark.parametrize("target", TARGETS)
def test_what_may_be_unaligned_goes_through_registers(target: str, tmp_path: Path) -> None:
    # cp.async of two bytes does not compile, so this one shows that none is written.
    assert copies(compiled(upgraded(matmul(), target).text, tmp_path, target, aligned=False)) == 0


@pytest.mark.parametrize("stages", [["async-copy"], ["async-copy", "mma"]])
@pytest.mark.parametrize("wide", ["first", "K"])
def test_a_loop_counts_in_as_many_bits_as_its_bounds(wide: str, stages: list[str], tmp_path: Path) -> None:
    text = "".join(line for line in indexed().splitlines(keepends=True) if "seen" not in line)
    text = text.replace("tl.store(", "tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)\n\n\n#")
    for stage in stages:
        text = conversion(text, ConvertOptions(triton=VERSION, target="sm_90", stage=stage)).text
    sizes = {"N": 64, "BLOCK_M": 64, "BLOCK_K": 16}
    pointers = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32"}
    numbers = {name: "i64" if name == wide else "i32" for name in ("first", "K")}
    entry = {
        "fn": module_of(text, tmp_path, "compiled").rows_kernel,
        "signature": {**pointers, **numbers, **dict.fromkeys(sizes, "constexpr")},
        "constexprs": sizes,
        "num_warps": 4,
    }
    found = compile_kernel(entry, "sm_90", as_launched=True)
    assert isinstance(found, Resources), found
    assert copies(found)
