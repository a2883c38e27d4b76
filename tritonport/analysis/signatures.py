"""Binding the arguments of a call to the real signature of the operation, as the table of API names records it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import libcst as cst

from tritonport.analysis.values import Refusal
from tritonport.rules_data import TRITON_VERSIONS, ApiEntry, load_api


@dataclass(frozen=True)
class Signature:
    names: tuple[str, ...]
    variadic: str | None


@cache
def signature(name: str) -> Signature:
    """Parameter names of `tl.load` and the like: every version's, the newest first, since a file may be written for
    any."""
    entry: ApiEntry = load_api()[name]
    names: list[str] = []
    variadic = None
    for version in TRITON_VERSIONS:
        text = entry.signature(version)
        if not text:
            continue
        found, star = _parse(text)
        variadic = variadic or star
        if not names:
            names = found
        names += [extra for extra in found if extra not in names]
    return Signature(tuple(names), variadic)


def _parse(text: str) -> tuple[list[str], str | None]:
    names: list[str] = []
    variadic = None
    depth = 0
    part = ""
    for character in text.strip()[1:-1] + ",":
        if character == "," and depth == 0:
            name = part.split("=")[0].split(":")[0].strip()
            if name.startswith("**") or name in ("", "*", "/"):
                pass
            elif name.startswith("*"):
                variadic = name[1:]
                names.append(name[1:])
            else:
                names.append(name)
            part = ""
            continue
        depth += character in "([{"
        depth -= character in ")]}"
        part += character
    return names, variadic


def bind(
    name: str, arguments: Sequence[cst.Arg], receiver: cst.BaseExpression | None, node: cst.Call
) -> tuple[dict[str, cst.BaseExpression], list[cst.BaseExpression]]:
    """Arguments by parameter name, and those of a variadic parameter. Refuses a keyword the operation does not have
    (TP103)."""
    known = signature(name)
    bound: dict[str, cst.BaseExpression] = {}
    rest: list[cst.BaseExpression] = []
    position = 0
    names = list(known.names)
    if receiver is not None and names:
        if names[0] == known.variadic:
            rest.append(receiver)
        else:
            bound[names[0]] = receiver
            position = 1
    for argument in arguments:
        if argument.star == "*":
            rest.append(argument.value)
            continue
        if argument.star == "**":
            raise Refusal("TP105", f"** in a call of {name}", node)
        if argument.keyword is not None:
            keyword = argument.keyword.value
            if keyword not in names:
                raise Refusal("TP103", f"{name} has no parameter {keyword}", argument)
            bound[keyword] = argument.value
            continue
        if position < len(names) and names[position] != known.variadic:
            bound[names[position]] = argument.value
            position += 1
        else:
            rest.append(argument.value)
    return bound, rest
