"""What is added to a dot is added where Triton's compiler adds it: inside the instruction or behind it."""

import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.convert import sum_kernels
from tests.convert.kernels import VERSION, convert, module_of
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import emulated

SOURCE = Path(sum_kernels.__file__).read_text()
TARGETS = ("sm_80", "sm_90")
ATTRIBUTES = {(index,): [["tt.divisibility", 16]] for index in range(4)}
ADDITION = re.compile(r"\badd(?:\.rn)?(?:\.ftz)?\.f(?:32|16)(?:x2)?\b")
INSIDE = (
    "loaded",
    "in_front",
    "vector",
    "number",
    "onto",
    "in_a_row",
    "held",
    "two_held",
    "from_zeros",
    "in_a_branch",
    "by_turns",
    "cast",
    "cast_and_held",
    "onto_zeros",
    "onto_zeros_in_a_sum",
)
BEHIND = ("twice", "limited", "given", "in_no_branch", "in_one_run", "onto_a_used_one")
WHOLE = ("whole_limited", "whole_exact", "whole_typed")
FOR_FLOATS = frozenset(
    ["vector", "number", "in_a_row", "limited", "given", "from_zeros", "by_turns", "onto_zeros", "onto_zeros_in_a_sum"]
)
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "i8": torch.int8, "i32": torch.int32}


@pytest.fixture(scope="module", params=TARGETS)
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ModuleType]:
    conversion = convert(SOURCE, VERSION, target=request.param)
    assert conversion.diagnostics == ()
    return request.param, module_of(conversion.text, tmp_path_factory.mktemp("port"), "sums_port")


def both(port: tuple[str, ModuleType], name: str, operands: str, bias: str) -> tuple[Resources, Resources]:
    target, module = port
    whole = operands == "i8"
    signature = dict(x_ptr=f"*{operands}", y_ptr=f"*{operands}", b_ptr=f"*{bias}")
    signature |= dict(z_ptr="*i32" if whole else "*fp32", scale="i32" if whole else "fp32")
    original, ported = (
        compile_kernel(dict(fn=getattr(where, name), signature=signature, attrs=ATTRIBUTES, constexprs={}), target)
        for where in (sum_kernels, module)
    )
    assert ported.mma == original.mma
    return original, ported


def additions(sides: tuple[Resources, Resources]) -> list[int]:
    return [len(ADDITION.findall(side.ptx or "")) for side in sides]


@pytest.mark.parametrize("name", INSIDE)
def test_sums_start_from_what_is_added(port: tuple[str, ModuleType], name: str) -> None:
    # A bias of 16 bits is cast in front of the instruction, in every kernel and on every target: see below.
    bias = {"sm_80": "fp32", "sm_90": "fp16"}[port[0]]
    assert additions(both(port, name, "fp16", bias)) == [0, 0]


@pytest.mark.parametrize("name", ["loaded", "held", "by_turns"])
def test_a_bias_of_the_other_type(port: tuple[str, ModuleType], name: str) -> None:
    bias = {"sm_80": "fp16", "sm_90": "fp32"}[port[0]]
    assert additions(both(port, name, "fp16", bias)) == [0, 0]


@pytest.mark.parametrize("name", BEHIND)
def test_what_triton_adds_behind_the_instruction(port: tuple[str, ModuleType], name: str) -> None:
    original, ported = additions(both(port, name, "fp16", "fp32"))
    assert ported == original > 0


@pytest.mark.parametrize(("bias", "behind"), [("fp16", False), ("fp32", True)])
def test_sums_of_half_precision_start_from_half_precision(
    port: tuple[str, ModuleType], bias: str, behind: bool
) -> None:
    original, ported = additions(both(port, "wider", "fp16", bias))
    assert ported == original
    assert (ported > 0) == behind


@pytest.mark.parametrize(("bias", "behind"), [("i32", False), ("i8", False), ("fp32", True)])
def test_whole_numbers(port: tuple[str, ModuleType], bias: str, behind: bool) -> None:
    original, ported = additions(both(port, "loaded", "i8", bias))
    assert ported == original
    assert (ported > 0) == behind


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_added_up_as_such_whatever_else_a_call_says(port: tuple[str, ModuleType], name: str) -> None:
    original, ported = both(port, name, "i8", "i32")
    assert ported.mma == original.mma != {}


@pytest.mark.parametrize("bias", ["fp32", "fp16"])
def test_8_bit_floats_are_added_behind_hopper_s_instruction(port: tuple[str, ModuleType], bias: str) -> None:
    original, ported = additions(both(port, "loaded", "fp8e5", bias))
    assert ported == original
    assert (ported > 0) == (port[0] == "sm_90")


# A kernel for whole numbers is given those alone, and one for floats is not.
RESULTS = [
    (name, operands, bias)
    for name in (*INSIDE, *BEHIND, *WHOLE)
    for operands, bias in (("fp16", "fp32"), ("fp16", "fp16"), ("i8", "i32"))
    if name not in (FOR_FLOATS if operands == "i8" else WHOLE)
]


@pytest.mark.parametrize(("name", "operands", "bias"), RESULTS)
def test_results_are_those_of_the_original(port: tuple[str, ModuleType], name: str, operands: str, bias: str) -> None:
    target, module = port
    g = torch.Generator().manual_seed(0)
    x, y, b = (torch.randint(-8, 9, (64, 64), generator=g) for _ in range(3))
    results = []
    for where in (sum_kernels, module):
        z = torch.zeros((64, 64), dtype=torch.int32 if operands == "i8" else torch.float32)
        with emulated(target=target):
            getattr(where, name)[(1,)](
                x.to(TYPES[operands]), y.to(TYPES[operands]), b.to(TYPES[bias]), z, 3 if operands == "i8" else 3.0
            )
        results.append(z)
    assert torch.equal(*results) and results[0].count_nonzero() > 1500
