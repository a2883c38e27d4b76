"""Versions of a file on one set of inputs, in the emulator: what is checked, what is repeated, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

from tests.bench.made import CountingClock
from tritonport.bench.interleave import Effort
from tritonport.bench.result import FileBench, Lane, Status
from tritonport.bench.run import BenchOptions, Task, bench_here
from tritonport.bench.table import text_table
from tritonport.config import default_triton
from tritonport.verify.emulate import emulated
from tritonport.verify.verdict import Verdict

KERNEL = '''
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x + y, mask=mask)


@triton.jit
def total_kernel(y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(y_ptr + offsets, mask=offsets < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(y))


def add_and_total(x, y):
    """Changes y; the sum of its elements is added up in memory that the host sets to zero."""
    total = torch.zeros(1)
    add_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    total_kernel[(triton.cdiv(x.numel(), 128),)](y, total, x.numel(), BLOCK=128)
    return total


def make_inputs(device, seed):
    return dict(x=torch.randint(1, 9, (100 + seed,)).float(), y=torch.randint(1, 9, (100 + seed,)).float())


def launch(x, y):
    return add_and_total(x, y)


def reference(x, y):
    return (x.double() + y.double()).sum().reshape(1)
'''
EFFORT = Effort(rounds=2, iterations=1, warmup=1)


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., FileBench]:
    """Times `KERNEL`, with `edits` to the file and to a port of it, as the one stage `port`."""

    def run(file: str = KERNEL, port: str | None = None, **options: Any) -> FileBench:
        (tmp_path / "sums.py").write_text(file)
        if port is not None:
            (tmp_path / "port.py").write_text(port)
            options["port"] = str(tmp_path / "port.py")
        options = {"stages": ("literal",), "seeds": (0,), "effort": EFFORT, "triton": default_triton(), **options}
        task = Task(str(tmp_path / "sums.py"), str(tmp_path / "sums.py"), BenchOptions(**options))
        with emulated():
            return bench_here(task, "cpu", "sm_90", CountingClock())

    return run


def ported(text: str = KERNEL) -> str:
    from tritonport.convert import ConvertOptions, convert_text

    return convert_text(text, path="sums.py", options=ConvertOptions(triton=default_triton())).text


def edited(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def lane(found: FileBench, stage: str) -> Lane:
    (only,) = [one for one in found.sizes[0].lanes if one.stage == stage]
    return only


def test_launches_that_change_what_they_read_are_repeated_on_what_it_was(measured: Callable[..., FileBench]) -> None:
    # A second run adds x to y again, and the sum to the sum, unless both are brought back.
    found = measured()
    assert found.verdict is Verdict.PASS, text_table([found])
    assert lane(found, "literal") == Lane(
        "literal",
        Status.TIMED,
        kernels=("add_kernel", "total_kernel"),
        resources=({"registers": None, "spills": None, "shared": None, "num_warps": None},) * 2,
        launch_us=12.3,
    )
    assert found.sizes[0].timings is not None
    assert set(found.sizes[0].timings.lanes) == {"original", "literal", "control"}
    # x once and y twice in the first kernel, y (which is overwritten) and the sum in the second.
    assert (found.sizes[0].work.bytes, found.sizes[0].work.counted) == (400 + 800 + 800 + 4, True)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("x + y, mask", "x - y, mask", "result differs"),
        ("mask = offsets < n", "mask = offsets < n - 1", "result differs"),
        ("gl.sum(y)", "gl.max(y, axis=0)", "result differs"),
    ],
)
def test_a_wrong_port_is_not_timed(measured: Callable[..., FileBench], old: str, new: str, said: str) -> None:
    found = measured(port=edited(ported(), old, new))
    wrong = lane(found, "port")
    assert wrong.status is Status.WRONG
    assert wrong.reason.startswith(said)
    assert found.verdict is Verdict.FAIL
    # The stage that is right is timed all the same.
    assert found.sizes[0].timings is not None
    assert "port" not in found.sizes[0].timings.lanes
    assert "literal" in found.sizes[0].timings.lanes


def test_nor_one_whose_changed_input_is_wrong(measured: Callable[..., FileBench]) -> None:
    text = edited(KERNEL, "    return total\n", "    return None\n")
    found = measured(text, edited(ported(text), "x + y, mask", "x - y, mask"), stages=("literal",))
    assert lane(found, "port").reason.startswith("input y differs")
    assert lane(found, "literal").status is Status.TIMED


def test_nor_one_that_is_right_because_of_the_host(measured: Callable[..., FileBench]) -> None:
    # What would be timed are the launches alone, and they do not compute the result.
    text = edited(ported(), "total = torch.zeros(1)", "total = torch.full((1,), -1.0)")
    text = edited(
        text, "    add_kernel[", "    total_kernel[(1,)](torch.ones(1), total, 1, BLOCK=128)\n    add_kernel["
    )
    assert lane(measured(port=text), "port").status is Status.TIMED
    text = edited(text, "    return total\n", "    total -= 1\n    return total\n")
    text = edited(text, "torch.full((1,), -1.0)", "torch.zeros(1)")
    assert lane(measured(port=text), "port").reason == "its launches alone compute another result"


def test_a_port_that_raises_fails_alone(measured: Callable[..., FileBench]) -> None:
    text = edited(ported(), "    total = torch.zeros(1)\n", "    total = torch.zeros(1)\n    raise ValueError('no')\n")
    found = measured(port=text)
    assert lane(found, "port") == Lane("port", Status.FAILED, "does not run: ValueError: no")
    assert lane(found, "literal").status is Status.TIMED


def test_what_is_no_port_is_not_timed(measured: Callable[..., FileBench]) -> None:
    found = measured(port=KERNEL + "# as it was\n", stages=("async-copy",))
    assert lane(found, "port") == Lane("port", Status.NOT_APPLICABLE, "no Gluon kernel is launched here")


def test_zeros_are_refused(measured: Callable[..., FileBench]) -> None:
    text = edited(KERNEL, "x=torch.randint(1, 9, (100 + seed,)).float()", "x=torch.zeros(100 + seed)")
    found = measured(text)
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert found.message.startswith("the input x is all zeros")
    assert found.sizes[0].timings is None
    # One that is overwritten may hold anything.
    text = edited(KERNEL, "y=torch.randint(1, 9, (100 + seed,)).float()", "y=torch.zeros(100 + seed)")
    assert measured(text).verdict is Verdict.PASS


def test_an_original_that_raises_is_no_measure(measured: Callable[..., FileBench]) -> None:
    found = measured(edited(KERNEL, "    return add_and_total", "    raise KeyError('x')\n    return add_and_total"))
    assert (found.verdict, found.message) == (Verdict.NOT_COMPARABLE, "the original does not run: KeyError: 'x'")


def test_a_stage_that_ended_its_process_is_left_out_of_the_next(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(KERNEL)
    file = str(tmp_path / "sums.py")
    options = BenchOptions(("literal",), seeds=(0,), triton=default_triton(), effort=EFFORT)
    with emulated():
        found = bench_here(Task(file, file, options, {"literal": "SIGSEGV"}), "cpu", "sm_90", CountingClock())
    assert lane(found, "literal") == Lane("literal", Status.FAILED, "SIGSEGV")
    assert found.sizes[0].timings is None


def test_sizes_and_work_of_the_case(measured: Callable[..., FileBench]) -> None:
    text = KERNEL + (
        "\n\ndef bench_inputs(device, n=70, value=1.0):\n"
        "    yield f'{n} elements', dict(x=torch.full((n,), value), y=torch.rand(n))\n"
        "\n\ndef bench_work(x, y):\n    return dict(flops=2 * x.numel(), bytes=12 * x.numel(), dtype=x.dtype)\n"
    )
    found = measured(text, sizes={("n",): (3, 80), ("value",): (2.0,)})
    assert [(size.label, dict(size.sizes)) for size in found.sizes] == [
        ("3 elements", {"n": 3, "value": 2.0}),
        ("80 elements", {"n": 80, "value": 2.0}),
    ]
    work = found.sizes[1].work
    assert (work.flops, work.bytes, work.counted, work.dtype) == (160.0, 960, False, "float32")
    assert [size.label for size in measured(text).sizes] == ["70 elements"]
    together = measured(text, sizes={("n", "value"): (3, 5)})
    assert [dict(size.sizes) for size in together.sizes] == [{"n": 3, "value": 3}, {"n": 5, "value": 5}]
    unknown = measured(text, sizes={("rows",): (3,)})
    assert unknown.verdict is Verdict.ERROR
    assert unknown.message.endswith("the case has no size 'rows': it has n, value")
    raising = measured(text, sizes={("n",): ("many",)})
    assert "TP804 bench_inputs of the case raises: TypeError: " in raising.message
    wrong = measured(edited(text, "flops=2", "ops=2"))
    assert wrong.message.endswith("bench_work of the case does not return dict(flops=, bytes=, dtype=)")


def test_without_sizes_of_its_own_a_case_has_its_seeds(measured: Callable[..., FileBench]) -> None:
    assert [size.label for size in measured(seeds=(0, 2)).sizes] == ["seed 0", "seed 2"]
    found = measured(sizes={("n",): (1,)})
    assert "it has no bench_inputs(device, ...) with sizes as parameters" in found.message


TUNED = KERNEL.replace(
    "@triton.jit\ndef add_kernel",
    "@triton.autotune([triton.Config({'BLOCK': size}) for size in BLOCKS], key=['n'])\n@triton.jit\ndef add_kernel",
).replace(
    "    tl.store(y_ptr + offsets, x + y, mask=mask)",
    "    # As a sum in another order would, each configuration has its own result.\n"
    "    tl.store(y_ptr + offsets, x + y * (1.0 + BLOCK), mask=mask)",
)
TUNED = TUNED.replace("(x, y, x.numel(), BLOCK=128)", "(x, y, x.numel())", 1).replace(
    "(triton.cdiv(x.numel(), 128),)", "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)", 1
)
TUNED = TUNED.replace("\n\n\n", "\n\nBLOCKS = (64, 128)\n\n\n", 1).split("def reference")[0]


def test_sides_that_are_tuned_apart_are_compared_in_the_same_configuration(measured: Callable[..., FileBench]) -> None:
    # The emulator takes the first configuration: that of the port is the second of the file.
    port = edited(ported(TUNED), "BLOCKS = (64, 128)", "BLOCKS = (128, 64)")
    found = measured(TUNED, port, stages=())
    assert found.verdict is Verdict.PASS, text_table([found])
    wrong = measured(TUNED, edited(port, "(1.0 + BLOCK)", "(2.0 + BLOCK)"), stages=())
    assert lane(wrong, "port").status is Status.WRONG, text_table([wrong])
    elsewhere = measured(TUNED, edited(port, "(128, 64)", "(256, 64)"), stages=())
    assert lane(elsewhere, "port").status is Status.WRONG, text_table([elsewhere])
