"""`--triton` from one end to the other: every name and keyword in the output exists in the version it is for."""

import importlib
import inspect
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from tests.convert.versions import names_of, problems
from tritonport.convert import ConvertOptions, convert_text
from tritonport.rules_data import TRITON_VERSIONS, version_key

ROOT = Path(__file__).parents[2]
FIXTURES = sorted(path for path in ROOT.glob("fixtures/*/*.py") if path.stem == path.parent.name)
KERNELS = sorted(ROOT.glob("tests/convert/*kernels.py"))
TARGETS = ("sm_80", "sm_90", "sm_100")

try:
    INSTALLED: str | None = "{}.{}".format(*version_key(version("triton")))
except PackageNotFoundError:
    INSTALLED = None


@pytest.mark.parametrize("triton", TRITON_VERSIONS)
@pytest.mark.parametrize("path", [*FIXTURES, *KERNELS], ids=lambda path: path.stem)
def test_every_name_of_a_port_is_in_the_version_that_it_is_for(path: Path, triton: str) -> None:
    text = path.read_text(encoding="utf-8")
    own = set(problems(text, triton))  # names of the original that its own version does not have
    target = TARGETS[TRITON_VERSIONS.index(triton) % len(TARGETS)] if path in KERNELS else "sm_90"

    conversion = convert_text(text, path=str(path), options=ConvertOptions(triton=triton, target=target))

    assert any(kernel.status == "converted" for kernel in conversion.kernels)
    assert {found.partition(": ")[2] for found in problems(conversion.text, triton)} <= {
        found.partition(": ")[2] for found in own
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("triton", TRITON_VERSIONS)
def test_every_function_that_a_port_may_bring_along(triton: str, target: str) -> None:
    from tritonport.convert.snippets import available, render, snippet

    language = "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n"
    for name in sorted(available(target)):
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
            value = getattr(value, part)
        if entry.kind == "function" and inspect.isfunction(inspect.unwrap(value)):
            own = set(inspect.signature(inspect.unwrap(value)).parameters) - {"self", "_semantic", "_generator", "cls"}
            own -= {"_builder"}
            assert own == {one.lstrip("*") for one in entry.parameters} - {""}, name
            checked += 1
    assert checked > 300
