"""Conversions that tests look at, each made once in a run of the tests, by whatever process comes to it first.

What a text becomes depends on the text and the options alone while a run lasts, and hundreds of tests ask for what
another one has asked for: what the output looks like, whether it runs, whether it compiles, whether it stays as it is.
"""

import os
import pickle
import tempfile
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from tests import CONVERSIONS
from tritonport.convert import Conversion, ConvertOptions, convert_text
from tritonport.upgrade import upgrade_text


def conversion(text: str, options: ConvertOptions, path: str = "kernel.py") -> Conversion:
    """What `convert`, or `upgrade` for a stage beyond literal, makes of a text that imports nothing from beside it."""
    return _kept(text, path, options.stage, options.target, options.triton, options.follow, options.kernels)


@cache
def _kept(
    text: str, path: str, stage: str, target: str, triton: str, follow: bool, kernels: frozenset[str] | None
) -> Conversion:
    options = ConvertOptions(stage=stage, target=target, triton=triton, follow=follow, kernels=kernels)
    folder = os.environ.get(CONVERSIONS)
    if folder is None:
        return _made(text, path, options)
    asked = {**asdict(options), "kernels": sorted(kernels) if kernels is not None else None}
    file = Path(folder) / sha256(repr((text, path, asked)).encode()).hexdigest()
    if file.is_file():
        found = pickle.loads(file.read_bytes())
        assert isinstance(found, Conversion)
        return found
    made = _made(text, path, options)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as unfinished:
        pickle.dump(made, unfinished)
    Path(unfinished.name).replace(file)
    return made


def _made(text: str, path: str, options: ConvertOptions) -> Conversion:
    if options.stage == "literal":
        return convert_text(text, path=path, options=options)
    # Every stage of a text begins with the same port.
    literal = conversion(text, replace(options, stage="literal"), path)
    return upgrade_text(text, path=path, options=options, literal=literal)
