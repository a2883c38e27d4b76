"""Recipes: operations that are written differently in Gluon, one file per family.

A recipe gets the writer, the call, its values per frame and the layouts it works in, and returns the expression to
write, or None to have the call written as it is. A module of this package registers its recipes by being imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from tritonport.convert.expressions import Recipe

RECIPES: dict[str, Recipe] = {}


def recipe(*names: str) -> Callable[[Recipe], Recipe]:
    """Register a recipe for operations of `triton.language`, by their short names."""

    def register(function: Recipe) -> Recipe:
        for name in names:
            RECIPES[name] = function
        return function

    return register


def load_recipes() -> None:
    """Import every module of this package."""
    for info in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{info.name}")
