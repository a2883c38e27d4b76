"""What the analysis of a file says of its kernels' values, as claims that a compile can be held against."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.terms import Root, Term, normal, root_of
from tritonport.analysis.values import Value
from tritonport.convert.alignment import Alignment
from tritonport.convert.file_analysis import Analysed
from tritonport.convert.layout_text import definitions, made_text, named_parts, term_text
from tritonport.convert.module import ModuleWriter
from tritonport.convert.names import Names
from tritonport.convert.places import Places
from tritonport.convert.snippets import family, rename, render, snippet, with_dependencies
from tritonport.layouts.recover.claims import Chain, Claim, KernelClaims
from tritonport.layouts.solver import frames_of

_LONGEST_NAME = 40


def claims_of(writer: ModuleWriter) -> dict[str, KernelClaims]:
    """The claims about every kernel that was analysed, by the kernel's name; `writer.run` has been called."""
    places = Places()
    return {
        kernel.name: _KernelClaims(writer, analysed, places).made()
        for kernel, analysed in writer.analysis.kernels.items()
    }


class _KernelClaims:
    def __init__(self, writer: ModuleWriter, analysed: Analysed, places: Places) -> None:
        self.writer = writer
        self.analysed = analysed
        self.places = places
        self.names: dict[Term, str] = {}
        self.layouts: list[tuple[str, str]] = []
        self.lines_above: dict[str, str] = {}
        self.used: set[str] = set()
        self.fresh = Names(writer.taken | {parameter.name for parameter in analysed.kernel.parameters})
        kernel = analysed.kernel
        self.runtime = {parameter.name for parameter in kernel.parameters if not parameter.constexpr}
        self.alignment = Alignment(frozenset(), frozenset(), enabled=False)
        self.assigned: dict[Frame, dict[int, str]] = {}

    def made(self) -> KernelClaims:
        kernel = self.analysed.kernel
        placed = list(self.places.values(frames_of(self.analysed.frame)))
        roots = {root for *_, value in placed for root in _roots(value)}
        self.alignment = self.writer.analysis.alignment_of(self.analysed.frame, roots)
        claims = [self._claim(*found) for found in placed]
        return KernelClaims(
            kernel.name,
            kernel.module.line_of(kernel),
            tuple(sorted(claims, key=lambda claim: (claim.path != kernel.module.path, claim.line, claim.column))),
            prelude=self._prelude(),
            locals=tuple(self._locals()),
            layouts=tuple(self.layouts),
            flags=tuple((flag, needed) for needed, flag in self.alignment.flags.items()),
        )

    def _claim(self, chain: Chain, column: int, node: cst.CSTNode, frame: Frame, value: Value) -> Claim:
        module = frame.kernel.module
        return Claim(
            chain,
            self._name(node, frame),
            module.path,
            chain[0][1],
            column,
            tuple(size.text for size in value.shape) if value.is_tensor else None,
            value.element if value.is_tensor and value.op != "store" else (),
            self._layout(value),
        )

    def _name(self, node: cst.CSTNode, frame: Frame) -> str:
        """The variable that an expression is assigned to, else its text."""
        if isinstance(node, cst.AugAssign) and isinstance(node.target, cst.Name):
            return node.target.value
        if frame not in self.assigned:
            self.assigned[frame] = {id(found.expression): found.name for found in frame.targets.values()}
        text = self.assigned[frame].get(id(node)) or " ".join(frame.kernel.module.tree.code_for_node(node).split())
        return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."

    def _layout(self, value: Value) -> str:
        # What a call gives back is decided by the function that is called, which has claims of its own.
        if not value.is_tensor or value.focus is None or value.op in ("call", "parameter"):
            return ""
        if root_of(value.term).either:
            return ""
        for part in named_parts(value.term):
            self._name_layout(part)
        return rename(term_text(value.term, self.names, "gl"), self.writer.renamed_snippets)

    def _name_layout(self, part: Term) -> None:
        if isinstance(part, Root) and part.wide is not None:
            self._name_layout(part.wide)
        if isinstance(part, Root) and part.within is not None:
            for other in named_parts(part.within):
                self._name_layout(other)
        if part not in self.names:
            self.names[part] = self._define(part)

    def _define(self, part: Term) -> str:
        name = self.fresh.fresh(f"layout{len(self.names)}")
        if isinstance(part, Root):
            lines = definitions(
                part,
                name,
                self.analysed.integers,
                self.runtime,
                "gl",
                self.used,
                self.fresh,
                1 << 16,
                self.alignment,
                self.names,
                self.writer.triton,
                self.lines_above,
                family(self.writer.target) == "sm_100",
            )
        else:
            lines = [(name, made_text(part, self.names, "gl", self.used))]
        self.layouts += [(made, rename(text, self.writer.renamed_snippets)) for made, text in lines]
        return name

    def _prelude(self) -> str:
        writer = self.writer
        lines: list[str] = []
        for name in with_dependencies(self.used, writer.target):
            lines += snippet(name, writer.target)[0]
            lines.append(render(name, "gluon", "gl", writer.renamed_snippets, writer.target, writer.triton))
        return "\n".join(lines) + "\n"

    def _locals(self) -> Iterator[tuple[str, str]]:
        """`name: tl.constexpr = expression` at the head of the kernel: layouts may name such variables."""
        module, body = self.writer.module, self.analysed.kernel.node.body
        for line in body.body:
            for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                if (
                    isinstance(small, cst.AnnAssign)
                    and small.value is not None
                    and isinstance(small.target, cst.Name)
                    and module.is_constexpr(small.annotation.annotation)
                ):
                    yield small.target.value, module.tree.code_for_node(small.value)


def _roots(value: Value) -> Iterator[Root]:
    if value.is_tensor and value.focus is not None:
        root = normal(value.term)
        while not isinstance(root, Root):
            root = normal(root.parent)
        yield root


__all__ = ["claims_of"]
