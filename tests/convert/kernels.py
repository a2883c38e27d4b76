"""Kernels given as text: converted, imported, launched on the CPU with arguments chosen by name, compiled."""

import importlib.util
import itertools
import linecache
import os
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import triton

from tests.conversions import conversion
from tritonport.convert import Conversion, ConvertOptions
from tritonport.verify.compile import Resources, compare, compile_kernel
from tritonport.verify.emulate import emulated

VERSION = ".".join(triton.__version__.split(".")[:2])
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
CONSTANTS: dict[str, Any] = {
    "BLOCK": 64,
    "BM": 16,
    "BN": 32,
    "BK": 8,
    "A": 2,
    "B": 4,
    "C": 8,
    "D": 4,
    "STEPS": 3,
    "NC": 29,
    "YES": True,
    "NO": False,
    "NOTHING": None,
    "MODE": 1,
    "ACT": "relu",
}
SCALARS: dict[str, Any] = {"n": 50, "rows": 13, "cols": 29, "steps": 3, "zero": 0, "stride": 32, "one": 1, "alpha": 0.5}
SIZE = 4096
_numbers = itertools.count()
_modules: dict[tuple[str, tuple[tuple[str, str], ...]], ModuleType] = {}


def convert(text: str, version: str = "3.9", **options: Any) -> Conversion:
    return conversion(text, ConvertOptions(triton=version, **options))


def kernel_text(body: str, parameters: str, decorators: str = "") -> str:
    """A file with one kernel: `kernel(parameters)` and the given statements."""
    lines = "".join(f"    {line}\n" if line.strip() else "\n" for line in body.strip("\n").splitlines())
    head = HEAD if not decorators else HEAD.replace("@triton.jit\n", decorators)
    return f"{head}def kernel({parameters}):\n{lines}"


def ported(text: str, version: str = "3.9", twice: bool = True) -> str:
    """The conversion of a file in which nothing may be left; a second conversion must change nothing."""
    once = convert(text, version)
    problems = [
        f"{found.code} line {found.line}: {found.message}" for found in once.diagnostics if found.code != "TP106"
    ]
    assert problems == []
    assert {outcome.status for outcome in once.kernels} <= {"converted", "already"}
    if not twice:
        return once.text
    again = convert(once.text, version)
    assert again.text == once.text
    assert {outcome.status for outcome in again.kernels} <= {"already"}
    return once.text


def module_of(text: str, folder: Path, stem: str) -> ModuleType:
    """The text as an imported module, under a name of its own: Triton reads the source of kernels from the file.

    A process imports each text once, as long as Triton's switches stay what they are: finding the source of every
    function, and hashing it, takes as long as to launch them in the emulator.
    """
    switches = tuple(sorted(item for item in os.environ.items() if item[0].startswith("TRITON_")))
    module = _modules.get((text, switches))
    if module is None:
        module = _modules[text, switches] = _imported(text, folder / f"{stem}_{next(_numbers)}.py")
    return module


def _imported(text: str, path: Path) -> ModuleType:
    path.write_bytes(text.encode())
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def innermost(kernel: Any) -> Any:
    while not hasattr(kernel, "params"):
        kernel = kernel.fn
    return kernel


def decided_by(kernel: Any) -> set[str]:
    """The arguments that decorators of a kernel give."""
    names: set[str] = set()
    while hasattr(kernel, "configs") or hasattr(kernel, "values"):
        names.update(kernel.configs[0].kwargs if hasattr(kernel, "configs") else kernel.values)
        kernel = kernel.fn
    return names


def arguments_of(kernel: Any, seed: int = 0) -> dict[str, Any]:
    """`x_ptr` and the like are float32 tensors, `i_ptr` int32, `out*_ptr` are NaN; the rest is known by name."""
    given: dict[str, Any] = {}
    for number, name in enumerate(innermost(kernel).arg_names):
        generator = torch.Generator().manual_seed(seed * 100 + number)
        if name.startswith("out"):
            given[name] = torch.full((SIZE,), torch.nan)
        elif name == "i_ptr":
            given[name] = torch.randint(0, 64, (SIZE,), generator=generator, dtype=torch.int32)
        elif name == "none_ptr":
            given[name] = None
        elif name.endswith("_ptr"):
            # Quarters: sums are exact, whatever the order.
            given[name] = torch.randint(-16, 17, (SIZE,), generator=generator).float() / 4
        elif name in CONSTANTS:
            given[name] = CONSTANTS[name]
        elif name in SCALARS:
            given[name] = SCALARS[name]
    return given


def launch(
    module: ModuleType, name: str = "kernel", grid: tuple[int, ...] = (2,), seed: int = 0
) -> dict[str, torch.Tensor]:
    """Every tensor after a launch, by parameter."""
    kernel = getattr(module, name)
    given = arguments_of(kernel, seed)
    with warnings.catch_warnings(), emulated():
        warnings.simplefilter("ignore")
        kernel[grid](**{name: value for name, value in given.items() if name not in decided_by(kernel)})
    return {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}


def assert_same_numbers(
    text: str, folder: Path, name: str = "kernel", grid: tuple[int, ...] = (2,)
) -> dict[str, torch.Tensor]:
    """Original and port leave the same bits in every tensor, and wrote something; gives the tensors back."""
    port = ported(text, VERSION)
    before = launch(module_of(text, folder, "original"), name, grid)
    after = launch(module_of(port, folder, "port"), name, grid)
    assert before.keys() == after.keys()
    for tensor, value in before.items():
        torch.testing.assert_close(after[tensor], value, rtol=0, atol=0, equal_nan=True)
    assert any(not value.isnan().all() for tensor, value in after.items() if tensor.startswith("out"))
    return after


def resources(module: ModuleType, name: str = "kernel", target: str = "sm_90") -> Resources:
    kernel = innermost(getattr(module, name))
    signature = {}
    constants = {}
    for parameter in kernel.params:
        if parameter.name in CONSTANTS:
            constants[parameter.name] = CONSTANTS[parameter.name]
        elif parameter.name.endswith("ALIGNED"):
            # What a port adds; a specification without attributes has every argument divisible by 16.
            constants[parameter.name] = True
        elif parameter.name == "none_ptr":
            constants[parameter.name] = None
        elif parameter.name == "one":
            constants[parameter.name] = 1
        elif parameter.name == "i_ptr":
            signature[parameter.name] = "*i32"
        elif parameter.name.endswith("_ptr"):
            signature[parameter.name] = "*fp32"
        else:
            signature[parameter.name] = "fp32" if parameter.name == "alpha" else "i32"
    return compile_kernel({"fn": kernel, "signature": signature, "constexprs": constants}, target)


FEW = 6
"""Registers that decide nothing: in a kernel of twenty, 10 % is two."""


def assert_compiles_as_well(text: str, folder: Path, name: str = "kernel") -> None:
    """The port compiles, and misses none of the bars of a literal port; a register or two in a tiny kernel are none."""
    original = resources(module_of(text, folder, "original"), name)
    port = resources(module_of(ported(text, VERSION), folder, "port"), name)
    missed = [result for result in compare(original, port) if not result.passed]
    if port.registers - original.registers <= FEW:
        missed = [result for result in missed if result.name != "registers"]
    assert [result.text for result in missed] == []
