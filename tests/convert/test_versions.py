"""`--triton` from one end to the other: every name and keyword in the output exists in the version it is for."""

import importlib
import inspect
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from tests.conversions import conversion
from tests.convert.versions import names_of, problems
from tritonport.convert import ConvertOptions
from tritonport.rules_data import TRITON_VERSIONS, version_key

ROOT = Path(__file__).parents[2]
FIXTURES = sorted(path for path in ROOT.glob("fixtures/*/*.py") if path.stem == path.parent.name)
TEXTS = {
    "a descriptor": """
    desc = tl.make_tensor_descriptor(x_ptr, [128, 64], [64, 1], [BLOCK, 64])
    desc.store([0, 0], desc.load([BLOCK, 0]) + 1)
""",
    "atomics of a descriptor": """
    desc = tl.make_tensor_descriptor(x_ptr, [128, 64], [64, 1], [BLOCK, 64])
    desc.atomic_add([0, 0], desc.load([BLOCK, 0]))
""",
    "a barrier, a clamp, scans": """
    offs = tl.arange(0, BLOCK)
    x = tl.clamp(tl.load(x_ptr + offs), 0.0, 1.0)
    tl.debug_barrier()
    tl.store(x_ptr + offs, tl.cumsum(x, 0) + tl.cumprod(x, 0))
""",
    "modifiers": """
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, cache_modifier=".cg", eviction_policy="evict_last", volatile=True)
    tl.store(x_ptr + offs, tl.sort(x), cache_modifier=".wt")
    tl.atomic_add(x_ptr + offs, 1.0, sem="relaxed", scope="gpu")
""",
    "a scaled product": """
    offs = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, tl.dot(x, tl.trans(x), input_precision="tf32x3", max_num_imprecise_acc=0))
""",
}
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x_ptr, BLOCK: tl.constexpr):"
TARGETS = ("sm_80", "sm_90", "sm_100")

try:
    INSTALLED: str | None = "{}.{}".format(*version_key(version("triton")))
except PackageNotFoundError:
    INSTALLED = None


def new_problems(before: str, after: str, triton: str) -> set[str]:
    """What a port names and a version lacks, without what the original already named."""

    def found(text: str) -> set[str]:
        return {problem.partition(": ")[2] or problem for problem in problems(text, triton)}

    return found(after) - found(before)


@pytest.mark.parametrize("triton", TRITON_VERSIONS)
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_name_of_a_port_is_in_the_version_that_it_is_for(path: Path, triton: str) -> None:
    text = path.read_text(encoding="utf-8")

    port = conversion(text, ConvertOptions(triton=triton))

    assert any(kernel.status == "converted" for kernel in port.kernels)
    assert new_problems(text, port.text, triton) == set()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("triton", TRITON_VERSIONS)
@pytest.mark.parametrize("name", TEXTS)
def test_names_that_moved(name: str, triton: str, target: str) -> None:
    text = HEAD + TEXTS[name]

    port = conversion(text, ConvertOptions(triton=triton, target=target))

    assert new_problems(text, port.text, triton) == set()
    if any(kernel.status == "left" for kernel in port.kernels):
        assert any(found.severity == "error" for found in port.diagnostics)
        assert port.text == text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("triton", TRITON_VERSIONS)
def test_every_function_that_a_port_may_bring_along(triton: str, target: str) -> None:
    from tritonport.convert.snippets import available, render, snippet

    language = "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n"
    for name in sorted(available(target)):
        if name.startswith("tma_atomic_") and version_key(triton) < (3, 8):
            continue  # no version of the copy engine's atomics before; such kernels are refused, as tested above
        imports = "\n".join(snippet(name, target)[0])
        text = f"{language}{imports}\n{render(name, 'gluon', 'gl', {}, target, triton)}"
        assert list(problems(text, triton)) == [], (name, target)


@pytest.mark.parametrize(
    ("text", "triton", "expected"),
    [
        ("gl.barrier()", "3.6", "line 3: gl.barrier is not in Triton 3.6"),
        ("gl.thread_barrier()", "3.7", "line 3: gl.thread_barrier is not in Triton 3.7"),
        ("gl.load(p, cache_policy=1)", "3.8", "line 3: gl.load has no cache_policy= in Triton 3.8"),
        ("gl.load(p, m, o, (), 'zero')", "3.9", "line 3: gl.load takes fewer than 5 arguments in Triton 3.9"),
        ("tma.async_load(d, c, b, r)", "3.6", "line 3: gl.nvidia.hopper.tma.async_load is not in Triton 3.6"),
        ("gl.BlockedLayout.nothing", "3.9", "line 3: gl.BlockedLayout.nothing is not in Triton 3.9"),
    ],
)
def test_what_a_version_lacks_is_found(text: str, triton: str, expected: str) -> None:
    head = "from triton.experimental.gluon import language as gl\n"
    head += "from triton.experimental.gluon.language.nvidia.hopper import tma\n"

    assert list(problems(head + text, triton)) == [expected]
    other = "3.9" if triton != "3.9" else "3.6"
    if "nothing" not in text and "thread" not in text:
        assert list(problems(head + text, other)) == []


@pytest.mark.skipif(INSTALLED is None, reason="Triton is not installed")
def test_the_data_say_what_the_installed_version_has() -> None:
    assert INSTALLED is not None
    modules = {
        "gl": importlib.import_module("triton.experimental.gluon.language"),
        "gluon": importlib.import_module("triton.experimental.gluon"),
        "tl": importlib.import_module("triton.language"),
    }
    checked = 0
    for name, entry in names_of(INSTALLED).items():
        value: Any = modules[name.partition(".")[0]]
        for part in name.split(".")[1:]:
            if not hasattr(value, part):  # a module that its package does not import by itself
                value = importlib.import_module(f"{value.__name__}.{part}")
            else:
                value = getattr(value, part)
        if entry.kind == "function" and inspect.isfunction(inspect.unwrap(value)):
            own = set(inspect.signature(inspect.unwrap(value)).parameters) - {"self", "_semantic", "_generator", "cls"}
            # A port calls functions; what a method's parameters are called depends on who asks.
            if name.count(".") == 1:
                assert own == {one.lstrip("*") for one in entry.parameters} - {"", "cls"}, name
                checked += 1
    assert checked > 100
