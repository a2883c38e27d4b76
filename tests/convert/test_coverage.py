"""Every recipe and every function that a port can bring along is used by a kernel that the tests run."""

import re
from collections.abc import Iterator
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
from tests.upgrade.test_left_operands import KERNEL as SCALED
from tests.upgrade.test_states import KERNEL as STATES
from tests.upgrade.test_tma_batched import SMALL
from tests.upgrade.test_tma_beside import KERNEL as BESIDE
from tritonport.analysis.interpreter import Interpreter
from tritonport.analysis.values import Refusal
from tritonport.convert import ConvertOptions
from tritonport.convert.recipes import RECIPES, load_recipes
from tritonport.layouts.solver import frames_of
from tritonport.rules_data import rules_dir
from tritonport.source.module import SourceModule
from tritonport.source.walk import walk

load_recipes()
ROOT = Path(__file__).parents[2]
GOLDENS = {
    "sm_90": [
        path
        for stage in ("literal", "tma", "multibuffer", "mma")
        for path in sorted(ROOT.glob(f"fixtures/*/expected/{stage}.py"))
    ],
    "sm_100": sorted(ROOT.glob("fixtures/*/expected/sm_100/*.py")),
}
COPY_ENGINE = {"tma": ("sm_90", "sm_100")}
"""What the functions in a folder of that name are for."""


@cache
def texts() -> tuple[str, ...]:
    """The kernels that tests run: of this folder, and the fixtures."""
    files = [path.read_text(encoding="utf-8") for path in [*FIXTURES, *Path(__file__).parent.glob("*_kernels.py")]]
    scalars = [
        kernel_text(f"tl.store(out_ptr, {before})\n", "out_ptr, n, BLOCK: tl.constexpr") for before, _ in SCALARS
    ]
    return (*files[len(FIXTURES) :], *(text_of(name) for name in NAMES), *files[: len(FIXTURES)], *scalars)


class Names:
    """Names in texts that are made one after the other, until the one that is asked for is found."""

    def __init__(self, texts: Iterator[frozenset[str]]) -> None:
        self.left = texts
        self.found: set[str] = set()

    def __contains__(self, name: str) -> bool:
        while name not in self.found:
            more = next(self.left, None)
            if more is None:
                return False
            self.found |= more
        return True


@cache
def operations() -> Names:
    """The operations of those kernels under their short names: those that are rewritten before the analysis, too."""
    return Names(operations_of(text) for text in texts())


def operations_of(text: str) -> frozenset[str]:
    found: set[str] = set()
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
def written(target: str) -> Names:
    """Every name in the ports, and in what the stages write."""
    return Names(frozenset(re.findall(r"\w+", text)) for text in ports(target))


def ports(target: str) -> Iterator[str]:
    """The texts of the ports. Only indices and dots are written differently for other versions and targets."""
    # A test compares the goldens with what is written.
    for path in GOLDENS.get(target, ()):
        yield path.read_text(encoding="utf-8")
    if target != "sm_100":
        yield from staged(target)
    for text in texts():
        if "return_indices" in text:
            yield convert(text, "3.6", target=target).text
        if ".gather(rows" in text:
            yield convert(text, "3.9", target="sm_100").text
    for text in texts():
        if target == "sm_90" or re.search(r"dot(_scaled)?\(", text):
            yield convert(text, "3.9", target=target).text


def staged(target: str) -> list[str]:
    """What the stages write: with a depth of the loop's own, a policy of the cache, an operand that is cast."""
    cached = matmul().replace("other=0.0)", "other=0.0, eviction_policy='evict_last')")
    options = ConvertOptions(triton="3.9", target=target, stage="async-copy")
    cast = matmul().replace("acc += tl.dot(a, b)", "acc = tl.dot(a.to(b.dtype), b, acc)")
    found = [conversion(text, options).text for text in (matmul(), indexed(), cached, cast)]
    if target != "sm_90":
        return found
    # Tiles that are read twice, scaled for a left operand, stored several at once, left unread by some iterations, and
    # matrices of which a tile holds several.
    skipped = matmul().replace("acc += tl.dot(a, b)", "if k % 3 != 2:\n            acc += tl.dot(a, b)")
    copied = (
        (cast, "tma"),
        (BESIDE, "tma"),
        (SCALED, "tma"),
        (STATES, "multibuffer"),
        (skipped, "tma"),
        (SMALL, "tma"),
    )
    return [*found, *(conversion(text, replace(options, stage=stage)).text for text, stage in copied)]


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_recipe_is_used(name: str) -> None:
    assert name in operations()


EMITTED = rules_dir() / "emitted"
COMMON = sorted(path.stem for path in EMITTED.glob("*.py"))
OF_A_TARGET = sorted((path.parent.name, path.stem) for path in EMITTED.glob("*/*.py"))


@pytest.mark.parametrize("name", COMMON)
def test_every_emitted_function_is_used(name: str) -> None:
    assert name in written("sm_90") or name in written("sm_80")


@pytest.mark.parametrize(("target", "name"), OF_A_TARGET)
def test_every_emitted_function_of_a_target_is_used(target: str, name: str) -> None:
    assert any(name in written(one) for one in COPY_ENGINE.get(target, (target,)))
