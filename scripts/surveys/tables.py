"""A survey's figures as text, JSON and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click

from surveys.findings import KernelFinding
from tritonport.verify.compile.resources import CompileFailure, Resources

COLUMNS = (
    "kernels",
    "converted",
    "partial",
    "refused",
    "already Gluon",
    "original compiles",
    "port compiles",
    "bars met",
    "seconds",
)


def figures(findings: Sequence[KernelFinding], seconds: float) -> dict[str, str]:
    """The numbers of one package, by column."""
    status = Counter(one.status for one in findings)
    compiled = [one for one in findings if isinstance(one.original, Resources)]
    ports = [one for one in compiled if isinstance(one.port, Resources)]
    held = [one for one in ports if not one.failed]
    tried = sum(one.original is not None for one in findings)
    return {
        "kernels": str(len(findings)),
        "converted": str(status["converted"] + status["partial"]),
        "partial": str(status["partial"]),
        "refused": str(status["refused"]),
        "already Gluon": str(status["already"]),
        "original compiles": f"{len(compiled)} of {tried}",
        "port compiles": f"{len(ports)} of {len(compiled)}" + _percent(len(ports), len(compiled)),
        "bars met": f"{len(held)} of {len(ports)}" + _percent(len(held), len(ports)),
        "seconds": f"{seconds:.1f}",
    }


def _percent(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.1f} %)" if whole else ""


def rows(findings: Sequence[KernelFinding], seconds: Mapping[str, float]) -> dict[str, dict[str, str]]:
    """The numbers of each package and of all, by name."""
    table = {name: figures([one for one in findings if one.package == name], spent) for name, spent in seconds.items()}
    table["all"] = figures(findings, sum(seconds.values()))
    return table


def refusals(findings: Sequence[KernelFinding]) -> Counter[tuple[str, str]]:
    """(code, name of the diagnostic) -> kernels refused for it, one code per kernel: its first error."""
    found: Counter[tuple[str, str]] = Counter()
    for one in findings:
        if one.status == "refused":
            errors = [diagnostic for diagnostic in one.diagnostics if diagnostic.severity == "error"]
            found[(errors[0].code, errors[0].name) if errors else ("-", "no diagnostic")] += 1
    return found


def shortfall(one: KernelFinding) -> str | None:
    """Why a kernel falls short, in a line; None where it does not."""
    if one.status == "refused":
        errors = [found for found in one.diagnostics if found.severity == "error"]
        return "; ".join(f"{found.code} {found.message} (line {found.line})" for found in errors) or "no diagnostic"
    if isinstance(one.original, CompileFailure):
        return f"original: {one.original.reason}: {one.original.message} (line {one.original.line})"
    if isinstance(one.port, CompileFailure):
        return f"port: {one.port.reason}: {one.port.message} (line {one.port.line})"
    return "; ".join(bar.text for bar in one.failed) or None


def kind(one: KernelFinding) -> str:
    """Which list of the worklist a kernel that falls short is in."""
    if one.status == "refused":
        return "refused"
    if isinstance(one.original, CompileFailure):
        return "original does not compile"
    return "port does not compile" if isinstance(one.port, CompileFailure) else "bar missed"


def print_summary(findings: Sequence[KernelFinding], seconds: Mapping[str, float]) -> None:
    """The table and what was refused, for a terminal."""
    click.echo("  ".join(["package".ljust(14), *(column.rjust(17) for column in COLUMNS)]))
    for name, row in rows(findings, seconds).items():
        click.echo("  ".join([name.ljust(14), *(row[column].rjust(17) for column in COLUMNS)]))
    click.echo("")
    for (code, name), count in refusals(findings).most_common():
        click.echo(f"{count:5} refused with {code} {name}")
    for (bar,), count in Counter((bar.name,) for one in findings for bar in one.failed).most_common():
        click.echo(f"{count:5} miss {bar}")
    if by_spills := sum(bar.with_spills for one in findings for bar in one.bars):
        click.echo(f"{by_spills:5} hold the registers bar only with what the original spills")


def print_worklist(findings: Sequence[KernelFinding]) -> None:
    """Every kernel that falls short, by kind."""
    short = [(kind(one), one, why) for one in findings if (why := shortfall(one))]
    for heading in ("port does not compile", "bar missed", "refused", "original does not compile"):
        click.echo(f"\n## {heading}")
        for found, one, why in short:
            if found == heading:
                click.echo(f"{one.path}:{one.line} {one.name}: {why}")
    click.echo("\n## instructions of other kinds than the original's")
    for one in findings:
        if one.differences:
            click.echo(f"{one.path}:{one.line} {one.name}: {' '.join(one.differences)}")


def to_json(findings: Sequence[KernelFinding], seconds: Mapping[str, float]) -> dict[str, Any]:
    """The table and every kernel."""
    return {
        "packages": rows(findings, seconds),
        "kernels": [
            {
                "package": one.package,
                "path": one.path,
                "line": one.line,
                "kernel": one.qualname,
                "status": one.status,
                "codes": sorted({found.code for found in one.diagnostics}),
                "kind": kind(one) if shortfall(one) else "ok",
                "shortfall": shortfall(one),
                "differences": one.differences,
                "seconds": round(one.seconds, 3),
            }
            for one in findings
        ],
    }


def markdown(findings: Sequence[KernelFinding], seconds: Mapping[str, float], triton: str, target: str) -> str:
    """The table and the refusals by diagnostic, as Markdown."""
    lines = [f"| package | {' | '.join(COLUMNS)} |", f"|---{'|---' * len(COLUMNS)}|"]
    for name, row in rows(findings, seconds).items():
        lines.append(f"| {name} | {' | '.join(row[column] for column in COLUMNS)} |")
    lines += ["", f"Triton {triton}, {target}.", "", "| diagnostic | name | kernels refused |", "|---|---|---|"]
    lines += [f"| {code} | {name} | {count} |" for (code, name), count in refusals(findings).most_common()]
    return "\n".join(lines) + "\n"
