"""Values for constexprs that nothing gives, from their names and from what a kernel does with them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from tritonport.verify.compile.kernels import dotted
from tritonport.verify.compile.launch_values import is_name

DTYPE_OF_ACCUMULATORS = "float32"


@dataclass(frozen=True)
class Dtype:
    """A Triton dtype by name, looked up where Triton is imported."""

    name: str


def suggested(kernel: ast.FunctionDef, name: str, module: ast.AST) -> Any:
    """A value for a constexpr that nothing gives, from its name and its use."""
    upper = name.upper()
    compared = _compared_with(kernel, name, module)
    if compared is not None:
        return compared
    if "DTYPE" in upper or upper.endswith("_TYPE"):
        return Dtype(DTYPE_OF_ACCUMULATORS)
    if re.search(r"STAGE", upper):
        return 2
    if re.search(r"WARP|GROUP", upper):
        return 4
    tests = (node.test for node in ast.walk(kernel) if isinstance(node, ast.If | ast.IfExp | ast.While))
    if re.match(r"(HAS|IS|USE|ENABLE|DO|WITH|APPLY|RETURN|STORE)_", upper) or any(
        isinstance(test, ast.Name) and test.id == name for test in tests
    ):
        return True
    flat = not any(isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) for node in ast.walk(kernel))
    if re.fullmatch(r".*(BLOCK|TILE|CHUNK|WIDTH|SIZE|COLS|DIM|LEN|FEATURES).*|N", upper):
        return 1024 if flat else 64
    return 64


def live(value: Any) -> Any:
    """The value itself where Triton is imported: a dtype for its name."""
    if isinstance(value, Dtype):
        import triton.language as tl

        return getattr(tl, value.name)
    return value


def _compared_with(kernel: ast.FunctionDef, name: str, module: ast.AST) -> Any:
    """The first constant a parameter is compared with, spelled out or by a name of the file; or None."""
    for node in ast.walk(kernel):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if not any(isinstance(side, ast.Name) and side.id == name for side in sides):
            continue
        for side in sides:
            for item in side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]:
                value = _constant(item, module)
                value = value[0] if isinstance(value, tuple | list) and value else value
                if value is not None:
                    return value
    return None


def _constant(node: ast.expr, module: ast.AST) -> Any:
    """The value of a literal, or of a name that the file binds once, to a literal or a ``tl.constexpr`` of one."""
    if isinstance(node, ast.Name):
        values = [
            statement.value
            for statement in getattr(module, "body", ())
            if (isinstance(statement, ast.Assign) and any(is_name(target, node.id) for target in statement.targets))
            or (isinstance(statement, ast.AnnAssign) and is_name(statement.target, node.id))
        ]
        value = values[0] if len(values) == 1 else None
        return None if value is None or isinstance(value, ast.Name) else _constant(value, module)
    if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "constexpr" and len(node.args) == 1:
        node = node.args[0]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
