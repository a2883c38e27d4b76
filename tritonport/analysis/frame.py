"""The state of one walk over one function: definitions, what each name read, and the value of every expression."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.values import Value
from tritonport.source.kernel import Kernel


@dataclass(eq=False)
class Definition:
    """One binding of a name: a parameter, an assignment, a loop target, or the merge of several (`phi`).

    Attributes:
        sources: of a merge, the definitions that reach it.
        decided: of a merge, that only one of them is compiled.
        unread: of such a merge, that nothing asks for it.
        depth: how many loops surround the place.
        pinned: the definition's tensors keep one layout (loop results of helpers, tuples, parameters).
    """

    name: str
    value: Value
    how: str
    frame: Frame
    depth: int = 0
    sources: list[Definition] = field(default_factory=list)
    statement: cst.CSTNode | None = None
    expression: cst.BaseExpression | None = None
    decided: bool = False
    unread: bool = False


@dataclass(eq=False)
class Frame:
    """One function, walked for one call (or for the launch of a kernel).

    `depth` is how many loops surround the call, in all of its callers. `lengths` are the numbers of items of tuple
    arguments, by parameter, where an assertion says them. `unrolled`: a loop over the items of a tuple was read item by
    item, so its text has to serve every item as it stands.

    `variants` are the other definitions of a function that an `if` or a `try` defines twice, walked for the same call.
    """

    kernel: Kernel
    caller: Frame | None = None
    call: cst.Call | None = None
    depth: int = 0
    values: dict[cst.CSTNode, Value] = field(default_factory=dict)
    reads: dict[cst.CSTNode, Definition] = field(default_factory=dict)
    targets: dict[cst.CSTNode, Definition] = field(default_factory=dict)
    merges: list[Definition] = field(default_factory=list)
    parameters: dict[str, Definition] = field(default_factory=dict)
    returns: list[tuple[cst.Return, Value]] = field(default_factory=list)
    calls: dict[cst.Call, Frame] = field(default_factory=dict)
    variants: dict[cst.Call, list[Frame]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    unrolled: bool = False
    operations: dict[cst.CSTNode, str] = field(default_factory=dict)
    resolved: dict[cst.CSTNode, str] = field(default_factory=dict)

    @property
    def chain(self) -> list[Frame]:
        """This frame and its callers, innermost first."""
        frames: list[Frame] = [self]
        while frames[-1].caller is not None:
            frames.append(frames[-1].caller)
        return frames


Environment = dict[str, Definition]
