"""The table of API names against the installed Triton, and against the page and the command made from it."""

import ast
import inspect
import json
import time
import types
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from tritonport.convert.recipes import RECIPES, load_recipes
from tritonport.report.api_page import entry_text, find_entry, table_markdown
from tritonport.rules_data import STATUSES, TRITON_VERSIONS, ApiEntry, find_api, load_api, rules_dir, version_key

ROOT = Path(__file__).parents[2]
KINDS = {"function", "method", "type", "module", "constant"}
# Modules and helpers that `dir()` shows and `__all__` does not: the parts that Triton is made of, not its vocabulary.
INTERNAL = {"core", "random", "semantic", "standard", "str_to_ty", "tensor_descriptor_type", "tuple_type"}
INTERNAL |= {"aggregate_replace"}

try:
    INSTALLED: str | None = "{}.{}".format(*version_key(version("triton")))
except PackageNotFoundError:
    INSTALLED = None
needs_triton = pytest.mark.skipif(INSTALLED is None, reason="Triton is not installed")


def language() -> Any:
    import triton.language as tl

    return tl


def own(name: str) -> list[ApiEntry]:
    """The rows of one prefix that the installed version has."""
    assert INSTALLED is not None
    return [row for row in load_api().values() if row.name.startswith(f"{name}.") and row.available(INSTALLED)]


@needs_triton
def test_every_public_name_has_a_row_and_no_row_invents_one() -> None:
    tl = language()
    public = {name for name in dir(tl) if not name.startswith("_")} - INTERNAL
    assert {row.short for row in own("tl")} == public


@needs_triton
def test_kinds() -> None:
    tl = language()
    for row in own("tl"):
        value = getattr(tl, row.short)
        if isinstance(value, types.ModuleType):
            kind = "module"
        elif isinstance(value, type):
            kind = "type"
        else:
            kind = "function" if callable(value) and not isinstance(value, tl.dtype) else "constant"
        assert (row.name, row.kind) == (row.name, kind)


def parameters(text: str) -> list[tuple[str, str, bool]]:
    """(name, kind, has a default) of each parameter of a signature in the table."""
    function = ast.parse(f"def f{text}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    namespace: dict[str, Any] = {"tl": types.SimpleNamespace(float32=0, PropagateNan=types.SimpleNamespace(NONE=0))}
    exec(compile(ast.Module([function], []), "signature", "exec"), namespace)
    return [
        (one.name, one.kind.name, one.default is not inspect.Parameter.empty)
        for one in inspect.signature(namespace["f"]).parameters.values()
    ]


@needs_triton
def test_signatures() -> None:
    tl = language()
    assert INSTALLED is not None
    checked = 0
    for row in own("tl"):
        text = row.signature(INSTALLED)
        if text is None:
            assert row.kind != "function", row.name
            continue
        value = getattr(tl, row.short)
        function: Any = getattr(value, "__init__" if isinstance(value, type) else "fn", value)
        expected = [
            (one.name, one.kind.name, one.default is not inspect.Parameter.empty)
            for one in inspect.signature(function).parameters.values()
            if one.name not in ("self", "_semantic", "_builder", "_generator")
        ]
        assert (row.name, parameters(text)) == (row.name, expected)
        checked += 1
    assert checked > 100


@needs_triton
def test_methods() -> None:
    tl = language()
    methods = {name for name in dir(tl.tensor) if not name.startswith("_")} - {"type", "handle", "shape", "dtype"}
    assert {name for name in methods if find_api(f"tensor.{name}") is None} == set()
    named = {method for row in load_api().values() for method in row.methods if row.available(str(INSTALLED))}
    assert named - methods == set()


@needs_triton
def test_gluon_targets_exist() -> None:
    import importlib

    assert INSTALLED is not None
    gl = importlib.import_module("triton.experimental.gluon.language")
    tl = language()
    checked = 0
    for row in load_api().values():
        target = row.target(INSTALLED) if row.available(INSTALLED) else None
        if target is None or not target.startswith(("gl.", "tl.")):
            continue
        root, _, rest = target.partition(".")
        value = gl if root == "gl" else tl
        for part in rest.split("."):
            assert hasattr(value, part), target
            value = getattr(value, part)
        checked += 1
    assert checked > 120


@needs_triton
def test_aliases_are_the_same_functions() -> None:
    tl = language()
    for row in own("tl"):
        for alias in row.aliases:
            value = tl
            for part in alias.removeprefix("tl.").split("."):
                value = getattr(value, part)
            assert value is getattr(tl, row.short), alias


def test_rows_are_consistent() -> None:
    for row in load_api().values():
        assert row.kind in KINDS, row.name
        assert row.status in STATUSES, row.name
        assert (row.recipe is not None) == (row.status == "recipe"), row.name
        assert {row.since, row.until} <= set(TRITON_VERSIONS), row.name
        for steps in (row.targets, row.signatures):
            since = [version_key(step) for step, _ in steps]
            assert since == sorted(since), row.name
            assert all(version_key(row.since) <= step for step in since), row.name
        if row.status in ("same", "layout", "tl"):
            assert row.target(row.since) is not None, row.name


def test_recipes_and_rows_name_each_other() -> None:
    load_recipes()
    for row in load_api().values():
        if row.recipe is not None:
            registered = RECIPES[row.name.removeprefix("tl.")]
            assert registered.__module__ == f"tritonport.convert.recipes.{row.recipe}", row.name
    assert {name for name in RECIPES if not {f"tl.{name}", name} & load_api().keys()} == set()


def test_targets_by_version() -> None:
    barrier, cumsum = load_api()["tl.debug_barrier"], load_api()["tl.cumsum"]
    assert [barrier.target(one) for one in TRITON_VERSIONS] == ["gl.thread_barrier"] + ["gl.barrier"] * 3
    assert [cumsum.target(one) for one in TRITON_VERSIONS] == ["tl.cumsum"] * 3 + ["gl.cumsum"]
    assert load_api()["tl.atomic_poll"].target("3.8") is None
    assert not load_api()["tl.atomic_poll"].available("3.8")
    assert not load_api()["tl.advance"].available("3.9")


def test_names_are_found_under_any_spelling() -> None:
    for name in ("tl.max", "max", "triton.language.max", "tl.standard.max", "tensor.max", "language.max"):
        assert find_api(name) is load_api()["tl.max"], name
    assert find_api("tl.math.exp") is load_api()["tl.exp"]
    assert find_api("tl.extra.libdevice.tanh") is load_api()["tl.extra"]
    assert find_api("libdevice.rsqrt") is load_api()["tl.extra"]
    assert find_api("tl.nonsense") is None


def test_the_file_has_one_row_a_line() -> None:
    text = (rules_dir() / "api.json").read_text()
    rows = json.loads(text)
    lines = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
    assert text == "{\n" + ",\n".join(lines) + "\n}\n"


def test_the_page_is_made_from_the_table() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    assert page.partition("\n| name |")[2] == table_markdown().removeprefix("| name |"), (
        "docs/api.md is out of date: run scripts/docs.sh"
    )


def test_explain_agrees_with_the_table() -> None:
    for row in load_api().values():
        assert find_entry(row.name) is row
        text = entry_text(row, "3.9")
        assert text.startswith(f"{row.name}{row.signature('3.9') or ''}\n")
        assert f"\n  status     {row.status}: {STATUSES[row.status]}\n" in text
        target = row.target("3.9")
        assert target is None or f"\n  Gluon      {target}\n" in text


def test_loading_is_fast() -> None:
    load_api.cache_clear()
    rules_dir.cache_clear()
    start = time.process_time()
    load_api()
    assert time.process_time() - start < 0.05  # 2 ms on an idle core
