"""The resource table of a run as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tritonport.report import Diagnostic
from tritonport.report.columns import columns
from tritonport.verify.compile.bars import BarResult, show_widths
from tritonport.verify.compile.resources import CompileFailure, Resources
from tritonport.verify.compile.run import CompileReport, Pair
from tritonport.verify.compile.side import CompiledSpec

_HEAD = ("conv", "in loops", "loads", "stores", "atomics", "regs", "spills", "shared", "barriers", "mma")


def _cells(resources: Resources) -> list[str]:
    return [
        str(resources.conversions),
        str(resources.conversions_in_loops),
        show_widths(resources.load_widths),
        show_widths(resources.store_widths),
        show_widths(resources.atomic_widths),
        str(resources.registers),
        str(resources.spills),
        str(resources.shared),
        str(resources.barriers),
        " ".join(f"{kind}x{count}" for kind, count in resources.mma.items()) or "-",
    ]


def _row(side: str, spec: CompiledSpec, verdict: str) -> list[str]:
    if isinstance(spec.result, Resources):
        return [side, *_cells(spec.result), verdict]
    words = "refused, as expected" if spec.refused_as_expected else spec.result.message
    return [side, words]


def verdict(pair: Pair, registers_hold: bool) -> str:
    """``ok``, or the names of the bars that do not hold, or what stands in the way of a comparison."""
    if pair.port is None:
        return "still Triton" if pair.refused else ""
    if isinstance(pair.port.result, CompileFailure):
        return "refused, as expected" if pair.port.refused_as_expected else "does not compile"
    if not pair.bars:
        return "still Triton" if pair.port.result.language == "triton" else "nothing to compare with"
    failed = [bar for bar in pair.failed if not (bar.allowed and registers_hold)]
    return "FAIL " + ", ".join(bar.name for bar in failed) if failed else "ok"


def text_table(report: CompileReport) -> str:
    """For a person at a terminal: one block per kernel and target, original above port, and what does not hold."""
    lines: list[str] = []
    advised: set[str] = set()
    for file in report.files:
        blocks: list[tuple[Pair, list[list[str]]]] = []
        for pair in file.pairs:
            rows = [["", *_HEAD, ""]] if not blocks or blocks[-1][0].target != pair.target else []
            side = "original" if pair.port is not None else "kernel"
            rows.append(_row(side, pair.original, verdict(pair, True) if pair.port is None else ""))
            if pair.port is not None:
                rows.append(_row("port", pair.port, verdict(pair, report.registers_hold)))
            blocks.append((pair, rows))
        aligned = iter(columns([row for _, rows in blocks for row in rows]))
        for pair, rows in blocks:
            label = f" ({pair.original.label})" if pair.original.label else ""
            lines.append(f"{pair.path}:{pair.line} {pair.kernel}{label} for {pair.target}")
            lines += [f"  {next(aligned)}" for _ in rows]
        for found in (*report.findings(file), *report.layout_differences(file)):
            lines.append(_finding(found))
            if found.advice not in advised:
                lines.append(f"  = {found.advice}")
            advised.add(found.advice)
    return "\n".join(lines) + "\n" if lines else ""


def _finding(found: Diagnostic) -> str:
    kernel = f"{found.kernel}: " if found.kernel else ""
    return f"{found.path}:{found.line}:{found.column}: {found.severity} {found.code} {kernel}{found.message}"


def concise(report: CompileReport) -> str:
    """One line per finding."""
    lines = [
        _finding(found) for file in report.files for found in (*report.findings(file), *report.layout_differences(file))
    ]
    return "\n".join(lines) + "\n" if lines else ""


def summary(report: CompileReport) -> str:
    """One line: how many kernels compiled, how many pairs hold."""
    pairs = report.pairs
    compared = [pair for pair in pairs if pair.bars]
    holding = sum(verdict(pair, report.registers_hold) == "ok" for pair in compared)
    compiled = sum(isinstance(pair.original.result, Resources) for pair in pairs)
    text = f"{compiled} of {len(pairs)} kernels compiled, {holding} of {len(compared)} ports hold every bar"
    heard = [pair.original.heard.comparison for pair in pairs if pair.original.heard is not None]
    if heard:
        types, layouts = sum(one.types for one in heard), sum(one.layouts for one in heard)
        text += f", {types} types and {layouts} layouts were held against Triton's"
    return text


def _change(bars: Sequence[BarResult], name: str) -> str:
    bar = next((bar for bar in bars if bar.name == name), None)
    if bar is None:
        return ""
    mark = "" if bar.passed or bar.allowed else " **!**"
    return (bar.port if bar.original == bar.port else f"{bar.original} → {bar.port}") + mark


def _percent(pair: Pair) -> str:
    bar = next(bar for bar in pair.bars if bar.name == "registers")
    original, port = int(bar.original), int(bar.port)
    return f"{100 * (port - original) / original:+.1f} %" if original else ""


def markdown(report: CompileReport) -> str:
    """One row per kernel, specialisation and target: the original's value, then the port's where it differs."""
    names = ("conversions", "loop-conversions", "load-width", "store-width", "atomic-width", "registers", "spills")
    head = ["kernel", "specialisation", "target", *names[:5], "registers", "change", "spills", "shared", "verdict"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for pair in report.pairs:
        cells = [pair.kernel, pair.original.label.replace("|", "\\|"), pair.target]
        if pair.bars:
            cells += [_change(pair.bars, name) for name in names[:6]]
            cells += [_percent(pair), _change(pair.bars, "spills"), _change(pair.bars, "shared-memory")]
        elif pair.port is None and isinstance(pair.original.result, Resources):
            found = _cells(pair.original.result)
            cells += [*found[:6], "", found[6], found[7]]
        else:
            cells += [""] * 9
        words = verdict(pair, report.registers_hold)
        if isinstance(pair.original.result, CompileFailure):
            words = words or ("refused, as expected" if pair.original.refused_as_expected else "does not compile")
        lines.append("| " + " | ".join([*cells, words]) + " |")
    compared = [pair for pair in report.pairs if pair.bars]
    registers = [bar for pair in compared for bar in pair.bars if bar.name == "registers"]
    over = sum(not bar.passed or bar.with_spills for bar in registers)
    last = f"{summary(report)}. Registers are more than 10 % above Triton's in {over} of {len(compared)} pairs"
    if any(bar.with_spills for bar in registers):
        last += f", in {sum(bar.with_spills for bar in registers)} of them with fewer bytes in registers and spills"
    lines += ["", f"{last}."]
    return "\n".join(lines) + "\n"


def to_json(report: CompileReport) -> dict[str, Any]:
    """All of it as JSON data."""

    def side(spec: CompiledSpec | None) -> dict[str, Any] | None:
        if spec is None:
            return None
        kind = "resources" if isinstance(spec.result, Resources) else "failure"
        return {
            kind: spec.result.to_json(),
            "guessed": spec.guessed,
            "expect_error": spec.expect_error,
            "forbidden": list(spec.forbidden),
        }

    return {
        "exit_code": report.exit_code,
        "summary": summary(report),
        "registers_hold": report.registers_hold,
        "files": [
            {
                "path": file.path,
                "kernels": [
                    {
                        "kernel": pair.kernel,
                        "line": pair.line,
                        "specialisation": pair.original.label,
                        "target": pair.target,
                        "original": side(pair.original),
                        "port": side(pair.port),
                        "bars": [
                            {
                                "name": bar.name,
                                "passed": bar.passed,
                                "allowed": bar.allowed,
                                "original": bar.original,
                                "port": bar.port,
                                "text": bar.text,
                            }
                            for bar in pair.bars
                        ],
                        "verdict": verdict(pair, report.registers_hold),
                    }
                    for pair in file.pairs
                ],
                "findings": [
                    {
                        "code": found.code,
                        "path": found.path,
                        "line": found.line,
                        "column": found.column,
                        "kernel": found.kernel,
                        "message": found.message,
                    }
                    for found in (*report.findings(file), *report.layout_differences(file))
                ],
            }
            for file in report.files
        ],
    }
