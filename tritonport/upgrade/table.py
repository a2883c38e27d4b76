"""The accesses of a file as a table: what each reads or writes, and whether a stage may change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tritonport.analysis.access import Access, Form, accesses_of
from tritonport.analysis.access.forms import plus, show, times
from tritonport.analysis.access.reader import is_called
from tritonport.analysis.dims import Dim, symbol
from tritonport.convert import ConvertOptions
from tritonport.convert.block_pointers import without_block_pointers
from tritonport.report import Diagnostic
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.upgrade import multibuffer
from tritonport.upgrade.legality import Reason, considered, describe, reasons
from tritonport.upgrade.stages import upgrade_text
from tritonport.upgrade.tma.terms import by_index, quotient, term

COPY_HEADINGS = ("line", "tile", "descriptor", "coordinates", "barrier", "verdict")
HEADINGS = ("line", "access", "address", "tile", "extents", "fill", "per iteration", "verdict")


@dataclass(frozen=True)
class Row:
    """One access of one kernel, with the conditions of the stage that it fails; None: the stage is not about it."""

    access: Access
    line: int
    column: int
    reasons: tuple[Reason, ...] | None

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

    def findings(self) -> Iterator[tuple[str, str]]:
        """The code and the message of each condition that it fails."""
        for reason in self.reasons or ():
            yield reason.code, f"{describe(self.access)} stays as it is: {reason.text}"

    @property
    def verdict(self) -> str:
        """`legal`, the codes of what it fails, or `-`."""
        if self.reasons is None:
            return "-"
        return ", ".join(dict.fromkeys(reason.code for reason in self.reasons)) or "legal"


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

    def findings(self) -> Iterator[tuple[str, str]]:
        """The code and the message of the condition that it fails, if any."""
        if self.copied.finding is not None:
            yield self.copied.finding.code, self.copied.finding.message


@dataclass(frozen=True)
class KernelTable:
    """The accesses of one kernel."""

    kernel: str
    line: int
    rows: tuple[Row | CopyRow, ...]
    headings: tuple[str, ...] = HEADINGS

    def diagnostics(self, path: str) -> list[Diagnostic]:
        """One per condition that an access fails."""
        return [
            Diagnostic(code, message, path, row.line, row.column, self.kernel)
            for row in self.rows
            for code, message in row.findings()
        ]


def tables_of(text: str, path: str, stage: str, options: ConvertOptions) -> list[KernelTable]:
    """The accesses of each kernel of a Triton or Gluon file that has any.

    Raises:
        InputError: the text is not Python (TP001).
    """
    if stage == multibuffer.STAGE:
        return _copy_tables(SourceModule(text, path, shared_project()), options)
    module = without_block_pointers(SourceModule(text, path, shared_project()), options.target)
    said = _said_by_upgrade(text, path, stage, options)
    tables = []
    for kernel in module.kernels:
        if options.kernels is not None and kernel.name not in options.kernels:
            continue
        rows = []
        for access in accesses_of(module, kernel):
            line, column = module.position(access.node)
            failed: tuple[Reason, ...] | None = None
            if considered(stage, access):
                # A function is opened in the kernels that call it, where its arguments have forms.
                opened = stage == "tma" and is_called(module, kernel)
                failed = (() if opened else tuple(reasons(stage, access))) or said.get((line, column), ())
            rows.append(Row(access, line, column, failed))
        if stage == "tma" and not any(row.access.kind == "load" and row.reasons == () for row in rows):
            # The stage is about stores beside loads that are copied.
            rows = [replace(row, reasons=None) if row.access.kind == "store" else row for row in rows]
        if rows:
            tables.append(KernelTable(kernel.qualified, module.line_of(kernel), tuple(rows)))
    return tables


def _said_by_upgrade(
    text: str, path: str, stage: str, options: ConvertOptions
) -> Mapping[tuple[int, int], tuple[Reason, ...]]:
    """Why the stage itself leaves accesses as they are, by line and column.

    Much of what it needs shows only in the port and in the kernel around an access: who else writes the memory, and
    where the rows of a coordinate that wraps go.
    """
    found: dict[tuple[int, int], tuple[Reason, ...]] = {}
    for one in upgrade_text(text, path=path, options=replace(options, stage=stage)).diagnostics:
        _, stays, why = one.message.partition(" stays as it is: ")
        if stays:
            place = (one.line, one.column)
            found[place] = (*found.get(place, ()), Reason(one.code, why))
    return found


def _copy_tables(module: SourceModule, options: ConvertOptions) -> list[KernelTable]:
    """The tiles that the loops of each Gluon kernel copy, one at a time."""
    found = multibuffer.copies_of(module, options.target, options.kernels)
    tables = []
    for kernel in module.kernels:
        rows = tuple(CopyRow(one, one.line, one.column) for one in found if one.kernel is kernel)
        if rows:
            tables.append(KernelTable(kernel.qualified, module.line_of(kernel), rows, COPY_HEADINGS))
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
