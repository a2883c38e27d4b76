"""Runs Triton and Gluon kernels on the CPU.

The kernels go through Triton's own front end (its code generator and the semantics of the dialect), which emits into a
builder that computes with numpy. So what the front end would refuse is refused, with its words, and everything else
gets numbers.
Importing this package imports triton, torch and numpy.
"""

from tritonport.verify.emulate.emulator import Emulator, PickConfig, emulated
from tritonport.verify.emulate.errors import EmulationError, NotEmulated
from tritonport.verify.emulate.launch import LaunchRecord

__all__ = ["EmulationError", "Emulator", "LaunchRecord", "NotEmulated", "PickConfig", "emulated"]
