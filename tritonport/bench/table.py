"""The report of a benchmark as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tritonport import __version__
from tritonport.bench.result import Ceilings, FileBench, Lane, SizeResult, Status, exit_code
from tritonport.bench.statistics import CONTROL, ORIGINAL, Ratio
from tritonport.report.columns import columns

HEAD = ("stage", "median", "10 % to 90 %", "rate", "of ceiling", "speed", "spread", "gain", "launch", "")


def text_table(files: Sequence[FileBench]) -> str:
    """For a terminal: a block for each file and set of inputs, a row for each stage."""
    return "\n".join("\n".join(_file_lines(file)) + "\n" for file in files)


def _file_lines(file: FileBench) -> list[str]:
    lines = [f"{file.path}  {file.verdict.value}" + (f"  {file.message}" if file.message else "")]
    if machine := machine_line(file):
        lines.append(f"  {machine}")
    for size in file.sizes:
        lines.append(f"  {size.label}" + (f": not timed: {size.problem}" if size.problem else ""))
        if size.lanes:
            rows = [list(HEAD), *(cells(size, lane, file.ceilings) for lane in size.lanes)]
            lines += [f"    {line}" for line in columns(rows if size.timings else rows[1:])]
        lines += [f"    {lane.stage}: {note}" for lane in size.lanes for note in lane.notes]
    return lines


def machine_line(file: FileBench) -> str:
    """What it ran on, and the ceilings; empty where nothing ran."""
    known = file.environment
    if not known:
        return ""
    parts = [f"{known.get('gpu')}, Triton {known.get('triton')}, torch {known.get('torch')}"]
    if file.ceilings.copy_gb_s is not None:
        parts.append(f"a copy moves {_number(file.ceilings.copy_gb_s)} GB/s")
    for dtype, rate in file.ceilings.matmul_tflop_s.items():
        said = f"reaches {_number(rate)} TFLOP/s" if rate is not None else "does not exist here"
        parts.append(f"torch.matmul in {dtype} {said}")
    return "; ".join(parts)


def cells(size: SizeResult, lane: Lane, ceilings: Ceilings) -> list[str]:
    """The row of one lane; one that was not timed is its name and why."""
    if lane.status is not Status.TIMED or size.timings is None:
        words = {Status.NOT_APPLICABLE: "does not apply", Status.WRONG: "WRONG", Status.FAILED: "FAILED"}
        said = words.get(lane.status, "right, not timed")
        return [lane.stage, f"{said}: {lane.reason}" if lane.reason else said]
    times = size.timings.lanes[lane.stage]
    rate = size.rate(lane.stage, ceilings)
    low, high = times.percentile(10), times.percentile(90)
    share = f"{100 * rate.share:.1f} % of {rate.of}" if rate.share is not None else "-"
    found = [
        lane.stage,
        f"{times.median:.4f} ms",
        f"{low:.4f} to {high:.4f}",
        f"{_number(rate.value)} {rate.unit}",
        share,
    ]
    launch = f"{lane.launch_us:.0f} us" if lane.launch_us is not None else ""
    if lane.stage == ORIGINAL:
        control = size.timings.ratio(CONTROL)
        return [*found, "", "", "", launch, f"against itself {control.value:.4f}x"]
    ratio, gain = size.timings.ratio(lane.stage), _gain(size, lane.stage)
    shown = f"{gain.value:.4f}x" if gain is not None else ""
    return [*found, f"{ratio.value:.4f}x", f"{ratio.spread:.4f}", shown, launch, ratio.words]


def _number(value: float) -> str:
    """Three digits at least."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _gain(size: SizeResult, stage: str) -> Ratio | None:
    """Over the stage timed before; None where that is the original."""
    before = size.before(stage)
    return None if before == ORIGINAL or size.timings is None else size.timings.ratio(stage, before)


def print_tables(files: Sequence[FileBench]) -> bool:
    """Prints the tables by rich where that is installed; False where it is not, and nothing was printed."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    console = Console()
    for file in files:
        head, *rest = _file_lines(FileBench(file.path, file.case, file.verdict, file.message))
        console.print(Text(head, style="bold"), *rest, sep="\n")
        if machine := machine_line(file):
            console.print(Text(machine, style="dim"))
        for size in file.sizes:
            if not size.lanes:
                console.print(Text(f"{size.label}: not timed: {size.problem}"))
                continue
            table = Table(title=Text(size.label), title_justify="left")
            for name in HEAD:
                table.add_column(name, justify="left" if name in ("stage", "") else "right")
            for lane in size.lanes:
                row = cells(size, lane, file.ceilings)
                # A row of two cells is a message, which belongs into the last column.
                row = row if len(row) > 2 else [row[0], *[""] * (len(HEAD) - 2), row[1]]
                table.add_row(*map(Text, row), style=_style(size, lane))
            console.print(table)
            for lane in size.lanes:
                for note in lane.notes:
                    console.print(Text(f"{lane.stage}: {note}", style="dim"))
    return True


def _style(size: SizeResult, lane: Lane) -> str:
    if lane.status in (Status.WRONG, Status.FAILED):
        return "red"
    if lane.stage == ORIGINAL or lane.status is not Status.TIMED or size.timings is None:
        return ""
    return {"faster": "green", "slower": "yellow"}.get(size.timings.ratio(lane.stage).words, "")


def to_json(files: Sequence[FileBench], failures: Sequence[str] = (), min_speed: float | None = None) -> dict[str, Any]:
    """The report as JSON values; `rules/schemas/bench.json` describes it."""
    return {
        "schema_version": 1,
        "tritonport": __version__,
        "exit_code": exit_code(files, failures),
        "min_speed": min_speed,
        "below_min_speed": list(failures),
        "files": [
            {
                "path": file.path,
                "case": file.case,
                "verdict": file.verdict.value,
                "message": file.message,
                "environment": dict(file.environment),
                "ceilings": {
                    "copy_gb_s": file.ceilings.copy_gb_s,
                    "matmul_tflop_s": dict(file.ceilings.matmul_tflop_s),
                },
                "sizes": [_size_json(size, file.ceilings) for size in file.sizes],
            }
            for file in files
        ],
    }


def _size_json(size: SizeResult, ceilings: Ceilings) -> dict[str, Any]:
    work = size.work
    return {
        "label": size.label,
        "sizes": dict(size.sizes),
        "problem": size.problem,
        "work": {"bytes": work.bytes, "counted": work.counted, "flops": work.flops, "dtype": work.dtype},
        "control": None if size.timings is None else _ratio_json(size.timings.ratio(CONTROL)),
        "stages": [_lane_json(size, lane, ceilings) for lane in size.lanes],
    }


def _lane_json(size: SizeResult, lane: Lane, ceilings: Ceilings) -> dict[str, Any]:
    found: dict[str, Any] = {
        "stage": lane.stage,
        "status": lane.status.value,
        "reason": lane.reason,
        "kernels": list(lane.kernels),
        "resources": [dict(one) for one in lane.resources],
        "notes": list(lane.notes),
        "launch_us": lane.launch_us,
    }
    if lane.status is not Status.TIMED or size.timings is None:
        return found
    times, rate = size.timings.lanes[lane.stage], size.rate(lane.stage, ceilings)
    found["ms"] = {
        "median": times.median,
        "p10": times.percentile(10),
        "p90": times.percentile(90),
        "rounds": list(times.medians),
        "samples": sum(map(len, times.rounds)),
    }
    found["rate"] = {"value": rate.value, "unit": rate.unit, "share": rate.share, "of": rate.of}
    if lane.stage != ORIGINAL:
        before = size.before(lane.stage)
        found["speed"] = _ratio_json(size.timings.ratio(lane.stage))
        found["gain"] = {"over": before, **_ratio_json(size.timings.ratio(lane.stage, before))}
    return found


def _ratio_json(ratio: Ratio) -> dict[str, Any]:
    return {"ratio": ratio.value, "rounds": list(ratio.rounds), "spread": ratio.spread, "shows": ratio.words}
