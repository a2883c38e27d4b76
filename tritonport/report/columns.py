"""Tables of plain text."""

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns; a row of two cells is a message and takes no part in the alignment."""
    widths = [0] * max((len(row) for row in rows), default=0)
    for row in rows:
        for i, cell in enumerate(row if len(row) > 2 else row[:1]):
            widths[i] = max(widths[i], len(cell))
    return ["  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows]
