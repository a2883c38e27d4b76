"""What the analysis of a file says of its kernels' values, as claims that a compile can be held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.values import Kind, Value
from tritonport.convert.alignment import Alignment, tile_names
from tritonport.convert.layout_text import definitions, made_text, named_parts, term_text
from tritonport.convert.module import Analysed, ModuleWriter
from tritonport.convert.names import Names
from tritonport.convert.snippets import rename, render, snippet, with_dependencies
from tritonport.layouts.recover.claims import Chain, Claim, KernelClaims, Place
from tritonport.layouts.recover.numbering import FileNumbers
from tritonport.layouts.solver import frames_of
from tritonport.layouts.terms import Root, Term, normal
from tritonport.source.module import SourceModule

_LONGEST_NAME = 40


class Places:
    """The places of expressions, over all files that a kernel's code stands in."""

    def __init__(self) -> None:
        self._numbers: dict[SourceModule, FileNumbers] = {}
        self._repeated: dict[SourceModule, Counter[cst.CSTNode]] = {}

    def of(self, node: cst.CSTNode, frame: Frame) -> tuple[Place, int] | None:
        """The place of a node of a frame's function, and its column; None for what the author did not write."""
        module = frame.kernel.module
        if module not in self._numbers:
            self._numbers[module] = FileNumbers(module.text)
            self._repeated[module] = Counter(module.origins.values())
        if self._repeated[module][module.origins.get(node, node)] > 1:
            return None
        span = module.span(node)
        if span is None:
            return None
        number = self._numbers[module].number(module.line_of(frame.kernel), span)
        path = str(module.file) if module.file is not None else module.path
        return None if number is None else ((path, span[0], number), span[1])

    def chain(self, frame: Frame) -> Chain | None:
        """The calls that lead to a frame, innermost first."""
        places: list[Place] = []
        while frame.caller is not None and frame.call is not None:
            found = self.of(frame.call, frame.caller)
            if found is None:
                return None
            places.append(found[0])
            frame = frame.caller
        return tuple(places)


def claims_of(writer: ModuleWriter) -> dict[str, KernelClaims]:
    """The claims about every kernel that was analysed, by the kernel's name; `writer.run` has been called."""
    places = Places()
    return {kernel.name: _KernelClaims(writer, analysed, places).made() for kernel, analysed in writer.analysed.items()}


def placed_values(frames: Iterable[Frame], places: Places) -> Iterator[tuple[Chain, int, cst.CSTNode, Frame, Value]]:
    """Every tensor and scalar that an expression makes (of a store: moves): its place, its column, the expression, and
    what is known."""
    for frame in frames:
        around = places.chain(frame)
        if around is None:
            continue
        for node, value in frame.values.items():
            if value.kind not in (Kind.TENSOR, Kind.SCALAR) or isinstance(node, cst.Name):
                continue
            found = places.of(node, frame)
            if found is not None:
                yield (found[0], *around), found[1], node, frame, value


class _KernelClaims:
    def __init__(self, writer: ModuleWriter, analysed: Analysed, places: Places) -> None:
        self.writer = writer
        self.analysed = analysed
        self.places = places
        self.names: dict[Term, str] = {}
        self.layouts: list[tuple[str, str]] = []
        self.used: set[str] = set()
        self.fresh = Names(writer.taken | {parameter.name for parameter in analysed.kernel.parameters})
        kernel = analysed.kernel
        self.runtime = {parameter.name for parameter in kernel.parameters if not parameter.constexpr}
        self.compile_time = {parameter.name for parameter in kernel.parameters} - self.runtime
        self.alignment = Alignment(frozenset(), frozenset(), enabled=False)
        self.assigned: dict[Frame, dict[int, str]] = {}

    def made(self) -> KernelClaims:
        kernel = self.analysed.kernel
        placed = list(placed_values(frames_of(self.analysed.frame), self.places))
        roots = {root for *_, value in placed for root in _roots(value)}
        self.alignment = Alignment(
            frozenset(self.analysed.integers & self.runtime),
            frozenset(self.compile_time - tile_names(roots)),
            self.writer.may_specialise(kernel),
        )
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
        for part in named_parts(value.term):
            if part not in self.names:
                self.names[part] = self._define(part)
        return rename(term_text(value.term, self.names, "gl"), self.writer.renamed_snippets)

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


__all__ = ["Places", "claims_of", "placed_values"]
