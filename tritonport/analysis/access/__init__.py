"""What each load and store of a kernel reads or writes: its affine form, extents, fill value, advance and reuse.

Works on Triton and on Gluon source alike: both are one vocabulary of loads, aranges and index arithmetic.
"""

from tritonport.analysis.access.accesses import Access
from tritonport.analysis.access.forms import Axis, Condition, Form, Mask, Opaque
from tritonport.analysis.access.loops import Loop
from tritonport.analysis.access.reader import accesses_of

__all__ = ["Access", "Axis", "Condition", "Form", "Loop", "Mask", "Opaque", "accesses_of"]
