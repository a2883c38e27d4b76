"""Offline compile of Triton and Gluon kernels, what they use, and the bars of a literal port.

>>> resources = compile_kernel(dict(fn=kernel, signature={...}, constexprs={...}), "sm_90")
>>> compare(compile_kernel(original, "sm_90"), compile_kernel(port, "sm_90"))

Needs triton at call time only; nothing here needs a GPU.
"""

from tritonport.verify.compile.bars import BarResult, bars_hold, compare, registers_hold
from tritonport.verify.compile.compiler import compile_kernel, compile_specs
from tritonport.verify.compile.resources import Access, CompileError, CompileFailure, LayoutConversion, Resources
from tritonport.verify.compile.spec import CompileSpec, SpecError, complete
from tritonport.verify.compile.target import TARGETS, UnknownTarget, normalise

__all__ = [
    "TARGETS",
    "Access",
    "BarResult",
    "CompileError",
    "CompileFailure",
    "CompileSpec",
    "LayoutConversion",
    "Resources",
    "SpecError",
    "UnknownTarget",
    "bars_hold",
    "compare",
    "compile_kernel",
    "compile_specs",
    "complete",
    "normalise",
    "registers_hold",
]
