"""The accesses of a file as a table: what each reads or writes, and whether a stage may change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tritonport.analysis.access import Access, Form, Opaque, accesses_of
from tritonport.analysis.access.forms import plus, show, times
from tritonport.analysis.access.reader import calls_of
from tritonport.analysis.dims import Dim, symbol
from tritonport.convert import Conversion, ConvertOptions
from tritonport.convert.block_pointers import without_block_pointers
from tritonport.report import Diagnostic
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.upgrade import multibuffer
from tritonport.upgrade.legality import considered
from tritonport.upgrade.original import STAYS, called_function
from tritonport.upgrade.stages import upgrade_text
from tritonport.upgrade.tma.terms import by_index, quotient, term

COPY_HEADINGS = ("line", "tile", "descriptor", "coordinates", "barrier", "verdict")
HEADINGS = ("line", "access", "address", "tile", "extents", "fill", "per iteration", "verdict")


@dataclass(frozen=True)
class Row:
    """One access of one kernel, with what the stage says of it; nothing where it is not about it."""

    access: Access
    line: int
    column: int
    said: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        """The texts under `HEADINGS`."""
        access, form = self.access, self.access.address
        affine = isinstance(form, Form)
        return (
            str(self.line),
            f"{access.kind} {access.target}".strip(),
            address_text(access),
            " x ".join(size or "1" for size in form.sizes) if isinstance(form, Form) else "",
            "; ".join(extent or "-" for extent in access.extents),
            {"none": "", "any": "any"}.get(access.fill, access.fill),
            _advance(access) if affine else "",
            self.verdict,
        )

    @property
    def verdict(self) -> str:
        """`legal`, the codes of what it fails, or `-`."""
        return ", ".join(self.said) or "-"


@dataclass(frozen=True)
class CopyRow:
    """One copy of a tile in a loop, for the stage `multibuffer`."""

    copied: multibuffer.Copied
    line: int
    column: int

    def cells(self) -> tuple[str, ...]:
        """The texts under `COPY_HEADINGS`."""
        one = self.copied
        verdict = one.finding.code if one.finding is not None else "legal"
        return str(self.line), one.tile, one.descriptor, one.coordinates, one.barrier, verdict


@dataclass(frozen=True)
class KernelTable:
    """The accesses of one kernel, and what is said of those that stay as they are."""

    kernel: str
    line: int
    rows: tuple[Row | CopyRow, ...]
    found: tuple[Diagnostic, ...] = ()
    headings: tuple[str, ...] = HEADINGS


def tables_of(text: str, path: str, stage: str, options: ConvertOptions) -> list[KernelTable]:
    """The accesses of each kernel of a Triton or Gluon file that has any.

    Raises:
        InputError: the text is not Python (TP001).
    """
    if stage == multibuffer.STAGE:
        return _copy_tables(SourceModule(text, path, shared_project()), options)
    module = without_block_pointers(SourceModule(text, path, shared_project()), options.target)
    said = _Said(upgrade_text(text, path=path, options=replace(options, stage=stage)), stage)
    tables: list[KernelTable] = []
    for kernel in module.kernels:
        if options.kernels is not None and kernel.name not in options.kernels:
            continue
        rows: list[Row | CopyRow] = []
        for access in (*accesses_of(module, kernel), *_calls(module, kernel)):
            line, column = module.position(access.node)
            rows.append(Row(access, line, column, said.verdict(access, line, column)))
        if rows:
            rows.sort(key=lambda one: (one.line, one.column))
            tables.append(KernelTable(kernel.qualified, module.line_of(kernel), tuple(rows)))
    return [replace(tables[0], found=tuple(said.findings)), *tables[1:]] if tables else []


def _calls(module: SourceModule, kernel: Kernel) -> list[Access]:
    """The calls of functions of other files that read or write memory: what they do there is in no table."""
    found = []
    for access in calls_of(module, kernel):
        callee = called_function(access)
        if callee is not None and callee.module is not module:
            found.append(replace(access, address=Opaque(f"`{callee.name}` is a function of another file")))
    return found


class _Said:
    """What a stage says of a file: what it copies, what it leaves and why.

    Much of what decides it shows only in the port and in the kernels around an access: who else writes the memory,
    where the rows of a coordinate that wraps go, what those pass that call a function.
    """

    def __init__(self, upgraded: Conversion, stage: str) -> None:
        self.stage, self.copied = stage, upgraded.copied
        left = {one.name.rpartition(".")[2] for one in upgraded.kernels if one.status == "left"}
        self.findings = [one for one in upgraded.diagnostics if STAYS in one.message or one.kernel in left]
        self.codes: dict[tuple[int, int], list[str]] = {}
        self.left: dict[str, list[str]] = {}
        for one in self.findings:
            if STAYS in one.message:
                self.codes.setdefault((one.line, one.column), []).append(one.code)
            elif one.severity == "error":
                self.left.setdefault(one.kernel or "", []).append(one.code)

    def verdict(self, access: Access, line: int, column: int) -> tuple[str, ...]:
        """The codes of what keeps an access as it is, and `legal` where it is copied: of what several kernels call,
        both may be so. Empty where the stage is not about it."""
        legal = ["legal"] if (line, column) in self.copied else []
        codes = self.codes.get((line, column), [])
        if not legal and not codes and considered(self.stage, access):
            # Of a kernel that is no port no stage has anything to say.
            codes = self.left.get(access.kernel.name, [])
        return tuple(dict.fromkeys([*legal, *codes]))


def _copy_tables(module: SourceModule, options: ConvertOptions) -> list[KernelTable]:
    """The tiles that the loops of each Gluon kernel copy, one at a time."""
    every = multibuffer.copies_of(module, options.target, options.kernels)
    tables = []
    for kernel in module.kernels:
        of_it = [one for one in every if one.kernel is kernel]
        found = [
            Diagnostic(one.finding.code, one.finding.message, module.path, one.line, one.column, kernel.qualified)
            for one in of_it
            if one.finding is not None
        ]
        if of_it:
            rows = tuple(CopyRow(one, one.line, one.column) for one in of_it)
            line = module.line_of(kernel)
            tables.append(KernelTable(kernel.qualified, line, rows, tuple(found), COPY_HEADINGS))
    return tables


def address_text(access: Access) -> str:
    """`a_ptr + BLOCK_M * pid + i0 * stride_am`: base, offset, and each coordinate with its stride."""
    form = access.address
    if not isinstance(form, Form):
        return f"not affine: {form.reason}"
    rest = Dim(tuple(term for term in form.offset.terms if term[0] != (form.head,)), "")
    parts = [form.head] if form.head is not None else []
    parts += [_shown(rest, access)] if rest.terms else []
    for dimension, axis in enumerate(form.axes):
        if axis is None:
            continue
        name = f"i{dimension}"
        if axis.bent:
            start = f"{_shown(axis.start, access)} + {name}" if axis.start.terms else name
            name = f"(({start}) % {_shown(axis.wrap, access)})" if axis.wrap is not None else f"({start})"
        parts.append(name if axis.stride.value == 1 else f"{name} * {_grouped(show(axis.stride))}")
    return " + ".join(parts)


def _shown(dim: Dim, access: Access) -> str:
    """A polynomial as the kernel would write it there: with its own names for what is no sum of products.

    `pid_m`, and not the quotients and minima that the kernel makes it of.
    """
    dim = by_index(dim, access.loops)
    for name, number in sorted(access.numbers.items(), key=lambda item: -len(show(item[1]))):
        if all(atom.isidentifier() for atom in number.atoms()):
            continue
        for monomial, count in dim.terms:
            factor = quotient(term(monomial, count), term(*number.terms[0]))
            left = plus(dim, times(number, factor), -1) if factor is not None else dim
            if factor is not None and len(left.terms) == len(dim.terms) - len(number.terms):
                dim = plus(left, times(symbol(name), factor))
    return show(dim)


def _grouped(text: str) -> str:
    return f"({text})" if "+" in text else text


def _advance(access: Access) -> str:
    if not access.loops:
        return ""
    advance = access.advance
    if advance is None:
        return "?"
    return show(advance) if advance.terms else "the same again"


def render_tables(tables: Sequence[KernelTable], path: str) -> str:
    """The tables as aligned text, a blank line between kernels."""
    return "\n".join(
        aligned(f"{path}:{table.line}: {table.kernel}", [table.headings, *(row.cells() for row in table.rows)])
        for table in tables
    )


def aligned(title: str, rows: Sequence[Sequence[str]]) -> str:
    """A title, and below it rows of cells in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([title, *(f"  {line}" for line in lines)]) + "\n"


__all__ = ["CopyRow", "KernelTable", "Row", "aligned", "render_tables", "tables_of"]
