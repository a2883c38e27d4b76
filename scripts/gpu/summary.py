"""The tables of a measurement: Markdown for a page of the documentation, and a short form for a terminal."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tritonport.bench.statistics import geometric_mean

Row = dict[str, Any]

EACH_BAR, MEAN_BAR = 0.98, 1.0
"""The least speed of each port against its original, and of the geometric mean of those that move memory."""

TILED = ("matmul", "attention")
TILED_BAR = 0.97
"""What is bound by tensor cores has a bar of its own, and takes no part in the mean."""

GOOD = ("PASS", "PASS-TOLERANCE")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(_cell(one) for one in line) + " |\n" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def speed_verdict(row: Row) -> str:
    """What a row of the speed table says, in a few words."""
    if row.get("error"):
        return f"not timed: {row['error']}"
    if row["bar"] and row["ratio"] < bar_of(row):
        return f"below {bar_of(row)}x"
    return "faster" if row["resolved"] and row["ratio"] > 1 else "slower" if row["resolved"] else "within the spread"


def bar_of(row: Row) -> float:
    """The least speed of a port against its original."""
    return TILED_BAR if row.get("fixture") in TILED else EACH_BAR


def speed_means(rows: Sequence[Row]) -> tuple[float, float] | None:
    """The geometric means of the barred rows that move memory: port to original, and original to itself.

    None where one of them is missing.
    """
    barred = [row for row in rows if row["bar"] and row.get("fixture") not in TILED]
    if not barred or any(row.get("error") for row in barred):
        return None
    control = [geometric_mean(row["controls"]) for row in barred]
    return geometric_mean(row["ratio"] for row in barred), geometric_mean(control)


def speed_findings(rows: Sequence[Row]) -> list[str]:
    """Which bars do not hold."""
    found = []
    for row in rows:
        name = f"{row['fixture']} {row['label']}"
        if row.get("error"):
            found.append(f"speed: {name}: {row['error']}")
        elif row["bar"] and row["ratio"] < bar_of(row):
            found.append(f"speed: {name}: {row['ratio']:.4f}x, less than {bar_of(row)}x")
    means = speed_means(rows)
    if means is not None and means[0] < MEAN_BAR:
        found.append(f"speed: geometric mean {means[0]:.4f}x, less than {MEAN_BAR}x (control {means[1]:.4f}x)")
    if means is None and any(row["bar"] for row in rows):
        found.append("speed: no geometric mean, for a row that it is of is missing")
    return found


def parity_findings(title: str, rows: Sequence[Row]) -> list[str]:
    """Which ports are not shown to agree; what is expected to be incomparable is no finding."""
    wrong = [row for row in rows if row["verdict"] not in (*GOOD, row.get("expected"))]
    return [f"{title}: {row['name']}: {row['verdict']}: {row['summary']}" for row in wrong]


_SPEED_HEAD = ("kernel", "shape", "Triton GB/s", "port GB/s", "port/Triton", "spread", "control", "")


def _speed_cells(row: Row) -> list[object]:
    kernels = ", ".join(row.get("kernels") or [row["fixture"]])
    if row.get("error"):
        return [kernels, row["label"], "", "", "", "", "", speed_verdict(row)]
    control = geometric_mean(row["controls"])
    rates = [f"{row[f'{side}_gb_s']:.0f}" for side in ("original", "port")]
    ratio = [f"{row['ratio']:.4f}x", f"{row['spread']:.4f}", f"{control:.4f}x"]
    return [kernels, row["label"], *rates, *ratio, speed_verdict(row)]


def speed_section(rows: Sequence[Row]) -> str:
    """The timed rows, those with bars first."""
    barred = [_speed_cells(row) for row in rows if row["bar"]]
    text = table(_SPEED_HEAD, barred) if barred else ""
    means = speed_means(rows)
    if means is not None:
        port, control = means
        over = f"without {' and '.join(TILED)}"
        text += f"\nGeometric mean {over}: {port:.4f}x; the original against itself: {control:.4f}x.\n"
    others = [row for row in rows if not row["bar"]]
    if others:
        text += "\nOther sizes and passes, reported only:\n\n" + table(_SPEED_HEAD, map(_speed_cells, others))
    return text + _resource_table(rows)


def _resource_table(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        pairs = zip(row.get("kernels", ()), *row.get("resources", {"": (), " ": ()}).values(), strict=False)
        for kernel, ours, theirs in pairs:
            both = [f"{ours[key]} / {theirs[key]}" for key in ("registers", "spills", "shared")]
            lines.append([kernel, row["label"], *both])
    if not lines:
        return ""
    head = ("kernel", "shape", "registers", "spilled", "shared memory, bytes")
    return "\nOriginal / port, as the driver reports them:\n\n" + table(head, lines)


def parity_section(rows: Sequence[Row], what: str) -> str:
    """One row per file and setting of floating-point contraction."""
    head = (what, "contraction", "verdict", "", "s")
    return table(head, [[r["name"], r["contraction"], r["verdict"], r["summary"], f"{r['seconds']:.0f}"] for r in rows])


def parity_notes(rows: Sequence[Row]) -> str:
    """What the checks noted: differences that are allowed, with their sizes."""
    lines = []
    for row in rows:
        lines += [f"- {row['name']}, contraction {row['contraction']}: {note}" for note in row["notes"]]
    return "\n".join(lines) + "\n" if lines else ""


def one_line(row: Row) -> str:
    """A row of a parity table for a terminal."""
    return f"{row['name']:<18} {row['contraction']:<4} {row['verdict']:<15} {row['summary'][:80]}"


def parity_line(rows: Sequence[Row]) -> str:
    """All rows of one name for a terminal; with words where one is not equal bit for bit."""
    verdicts = ", ".join(row["verdict"] for row in rows)
    other = next((row["summary"] for row in rows if row["verdict"] != "PASS"), "")
    return f"{rows[0]['name']:<18} {verdicts:<31} {other[:60]}".rstrip()


def speed_line(row: Row) -> str:
    """A row of the speed table for a terminal."""
    name = f"{row['fixture']} {row['label']}"
    if row.get("error"):
        return f"{name:<42} {row['error'][:90]}"
    rates = f"{row['original_gb_s']:7.0f} {row['port_gb_s']:7.0f} GB/s"
    mark = "bar" if row["bar"] else ""
    return f"{name:<42} {rates} {row['ratio']:.4f}x spread {row['spread']:.4f} {mark:<3} {speed_verdict(row)}"
