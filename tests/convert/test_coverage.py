"""Every recipe and every function that a port can bring along is used by a kernel that the tests run."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import libcst as cst
import pytest

from tests.conversions import conversion
from tests.convert.kernels import convert, kernel_text
from tests.convert.test_golden import FIXTURES
from tests.convert.test_hard_kernels import NAMES, text_of
from tests.convert.test_text import SCALARS
from tests.upgrade.kernels import indexed, matmul
from tritonport.analysis.interpreter import Interpreter
from tritonport.analysis.values import Refusal
from tritonport.convert import ConvertOptions
from tritonport.convert.recipes import RECIPES, load_recipes
from tritonport.layouts.solver import frames_of
from tritonport.rules_data import rules_dir
from tritonport.source.module import SourceModule
from tritonport.source.walk import walk

load_recipes()
GOLDENS = [
    path
    for stage in ("tma", "multibuffer", "mma")
    for path in sorted(Path(__file__).parents[2].glob(f"fixtures/*/expected/{stage}.py"))
]
GOLDENS_OF_BLACKWELL = sorted(Path(__file__).parents[2].glob("fixtures/*/expected/sm_100/*.py"))
COPY_ENGINE = {"tma": ("sm_90", "sm_100")}
"""What the functions in a folder of that name are for."""


@cache
def texts() -> tuple[str, ...]:
    """The kernels that tests run: of this folder, and the fixtures."""
    files = [path.read_text(encoding="utf-8") for path in [*FIXTURES, *Path(__file__).parent.glob("*_kernels.py")]]
    scalars = [
        kernel_text(f"tl.store(out_ptr, {before})\n", "out_ptr, n, BLOCK: tl.constexpr") for before, _ in SCALARS
    ]
    return (*(text_of(name) for name in NAMES), *files, *scalars)


@cache
def operations() -> frozenset[str]:
    """The operations of those kernels under their short names: those that are rewritten before the analysis, too."""
    found: set[str] = set()
    for text in texts():
        module = SourceModule(text, "kernel.py")
        for kernel in module.kernels:
            for call in walk(kernel.node):
                if isinstance(call, cst.Call):
                    found.update(name.rpartition(".")[2] for name in module.qualified_names(call.func))
            try:
                frame = Interpreter(module).run(kernel)
            except Refusal:
                continue
            for inner in frames_of(frame):
                found.update(inner.operations.values())
    return frozenset(found)


@cache
def written(target: str) -> frozenset[str]:
    """Every name in the ports. Only indices and dots are written differently for other versions and targets."""
    found: set[str] = set()
    for text in texts():
        dots = re.search(r"dot(_scaled)?\(", text)
        ports = [convert(text, "3.9", target=target).text] if target == "sm_90" or dots else []
        if ".gather(rows" in text:
            ports.append(convert(text, "3.9", target="sm_100").text)
        if "return_indices" in text:
            ports.append(convert(text, "3.6", target=target).text)
        found.update(re.findall(r"\w+", "\n".join(ports)))
    if target != "sm_100":
        found.update(re.findall(r"\w+", "\n".join(staged(target))))
    # A test compares the goldens of the later stages with what is written.
    goldens = {"sm_90": GOLDENS, "sm_100": GOLDENS_OF_BLACKWELL}.get(target, [])
    found.update(name for path in goldens for name in re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return frozenset(found)


def staged(target: str) -> list[str]:
    """What the stages write: with a depth of the loop's own, a policy of the cache, an operand that is cast."""
    cached = matmul().replace("other=0.0)", "other=0.0, eviction_policy='evict_last')")
    options = ConvertOptions(triton="3.9", target=target, stage="async-copy")
    cast = matmul().replace("acc += tl.dot(a, b)", "acc = tl.dot(a.to(b.dtype), b, acc)")
    found = [conversion(text, options).text for text in (matmul(), indexed(), cached, cast)]
    return [*found, conversion(cast, replace(options, stage="tma")).text] if target == "sm_90" else found


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_recipe_is_used(name: str) -> None:
    assert name in operations()


EMITTED = rules_dir() / "emitted"
COMMON = sorted(path.stem for path in EMITTED.glob("*.py"))
OF_A_TARGET = sorted((path.parent.name, path.stem) for path in EMITTED.glob("*/*.py"))


@pytest.mark.parametrize("name", COMMON)
def test_every_emitted_function_is_used(name: str) -> None:
    assert name in written("sm_90") | written("sm_80")


@pytest.mark.parametrize(("target", "name"), OF_A_TARGET)
def test_every_emitted_function_of_a_target_is_used(target: str, name: str) -> None:
    assert any(name in written(one) for one in COPY_ENGINE.get(target, (target,)))
