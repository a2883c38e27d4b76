"""The structure that docs/developing.md describes: which package imports which, and that no files do in a circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tritonport"
ORDER = ("report", "source", "analysis", "layouts", "convert", "upgrade", "verify", "run", "bench", "cli")
ANYWHERE = ("config", "packages", "rules_data")
"""Modules beside the packages, which import from `report` and each other alone."""


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, modules: set[str]) -> set[str]:
    """The files that a tree imports, in functions too, but not those that only type checkers read."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & modules
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{alias.name}" for alias in node.names} & modules
            found |= names or {node.module} & modules
        else:
            found |= imported(node, modules)
    return found


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {module_name(file): ast.parse(file.read_text(encoding="utf-8")) for file in PACKAGE.rglob("*.py")}


def package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_packages_import_from_those_before_them(trees: dict[str, ast.Module]) -> None:
    wrong = [
        f"{module} imports {other}"
        for module, tree in trees.items()
        for other in imported(tree, set(trees))
        if package_of(module) in ORDER
        and package_of(other) in ORDER
        and ORDER.index(package_of(other)) > ORDER.index(package_of(module))
    ]
    assert not wrong


def test_modules_beside_the_packages_need_none_but_report(trees: dict[str, ast.Module]) -> None:
    for name in ANYWHERE:
        needed = {package_of(other) for other in imported(trees[f"tritonport.{name}"], set(trees))}
        assert needed <= {"report", *ANYWHERE, ""}, name


def test_no_files_import_each_other_in_a_circle(trees: dict[str, ast.Module]) -> None:
    graph = {module: imported(tree, set(trees)) - {module} for module, tree in trees.items()}
    # A project reads files, and each of them resolves its names in the project.
    graph["tritonport.source.project"].remove("tritonport.source.module")
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
