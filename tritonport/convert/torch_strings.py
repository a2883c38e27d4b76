"""What a module of torch.compile needs besides its kernels: torch's autotuner has to be told how Gluon is compiled."""

from __future__ import annotations

import re

_DECORATOR = re.compile(r"^@triton_heuristics\.", re.MULTILINE)
_GLUON = re.compile(r"^from triton\.experimental import gluon\b.*\n", re.MULTILINE)
_IMPORTS = """from triton.compiler.compiler import ASTSource
from triton.experimental.gluon._runtime import GluonASTSource
"""
_FUNCTION = '''def kernel_source(fn, *args):
    """torch compiles every kernel as Triton; a Gluon kernel has a source class of its own."""
    return (GluonASTSource if fn.is_gluon() else ASTSource)(fn, *args)


triton_heuristics.ASTSource = kernel_source


'''


def with_kernel_source(text: str) -> str:
    """A converted module whose kernels `triton_heuristics` compiles, with the source class for Gluon."""
    place, imports = _DECORATOR.search(text), _GLUON.search(text)
    if place is None or imports is None or _FUNCTION in text:
        return text
    above = text[imports.start() : place.start()].rstrip("\n")
    return f"{text[: imports.start()]}{_IMPORTS}{above}\n\n\n{_FUNCTION}{text[place.start() :]}"


__all__ = ["with_kernel_source"]
