"""`tritonport compile`: every kernel of a file, original and port, compiled offline, and what it uses."""

import json
import os
import sys
from pathlib import Path

import click

from tritonport.cli._files import write_whole
from tritonport.cli._options import TARGET, chosen_triton, config_for, paths_argument
from tritonport.packages import lacking
from tritonport.report import NOT_RUN


@click.command("compile")
@paths_argument
@click.option(
    "--target",
    "targets",
    type=TARGET,
    multiple=True,
    help="Architecture to compile for: sm_80, sm_90, sm_100 ...; repeatable.  [default: sm_90]",
)
@click.option(
    "--against",
    metavar="ORIGINAL",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The Triton file that the one (ported) PATH was made from.",
)
@click.option(
    "--case",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The case with COMPILE_SPECS.  [default: the file itself, else <stem>_case.py beside it]",
)
@click.option("--kernel", "kernels", metavar="NAME", multiple=True, help="Only this kernel; repeatable.")
@click.option(
    "--guess-signature",
    is_flag=True,
    help="Compile kernels that no case names too, with guessed arguments. A package that asks for a GPU gets one.",
)
@click.option("--against-triton", is_flag=True, help="Print where the analysis and Triton's own compiler disagree.")
@click.option("--as-launched", is_flag=True, help="With the pipelining the source asks for.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=1),
    default=120.0,
    show_default=True,
    help="For each kernel.",
)
@click.option(
    "--triton-cache",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the IR of every stage, the PTX and the cubin here.",
)
@click.option("-j", "--jobs", type=click.IntRange(min=0), help="Files at once; 0: one per core.  [default: 1]")
@click.option("-q", "--quiet", is_flag=True, help="No summary on standard error.")
@click.option(
    "--output-format",
    type=click.Choice(["full", "concise", "json"]),
    default="full",
    show_default=True,
    help="How the results are written.",
)
@click.option(
    "--report",
    "report_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write them as JSON too.",
)
@click.option(
    "--table", metavar="FILE", type=click.Path(allow_dash=True), help="Write one Markdown table; - prints it."
)
@click.pass_context
def compile_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    targets: tuple[str, ...],
    against: Path | None,
    case: Path | None,
    kernels: tuple[str, ...],
    guess_signature: bool,
    against_triton: bool,
    as_launched: bool,
    timeout: float,
    triton_cache: Path | None,
    jobs: int | None,
    quiet: bool,
    output_format: str,
    report_file: Path | None,
    table: str | None,
) -> None:
    """Compile every kernel offline and show what it uses; no GPU is needed.

    A Triton file is converted in memory and compiled on both sides, with the bars a port is held to. A ported file is
    compiled alone, or compared with --against. Arguments come from the case beside the file (COMPILE_SPECS).
    """
    if why := lacking("triton"):
        click.echo(f"error: TP806 {why}", err=True)
        ctx.exit(NOT_RUN)
    from tritonport.run.progress import ProgressLine
    from tritonport.verify.compile import table as tables
    from tritonport.verify.compile.run import CompileRequest, compile_files
    from tritonport.verify.compile.select import find_files

    if against is not None and (len(paths) != 1 or not os.path.isfile(paths[0])):
        raise click.UsageError("--against takes one file")
    config = config_for(paths)
    request = CompileRequest(
        targets=targets or (config.target or "sm_90",),
        triton=chosen_triton(None, config),
        against=against,
        case=case,
        kernels=frozenset(kernels) or None,
        guess_signature=guess_signature,
        timeout=timeout,
        as_launched=as_launched,
        against_triton=against_triton,
        cache=triton_cache,
        jobs=(config.jobs or 1 if jobs is None else jobs) or os.cpu_count() or 1,
    )
    progress = ProgressLine(quiet)
    report = compile_files(find_files(paths, config.exclude or (), guess_signature), request, progress)
    progress.clear()
    if report_file is not None:
        write_whole(report_file, json.dumps(tables.to_json(report), indent=2) + "\n")
    if table is not None and table != "-":
        write_whole(Path(table), tables.markdown(report))
    if output_format == "json":
        click.echo(json.dumps(tables.to_json(report), indent=2))
    elif table == "-":
        click.echo(tables.markdown(report), nl=False)
    else:
        click.echo(tables.text_table(report) if output_format == "full" else tables.concise(report), nl=False)
    if not quiet:
        click.echo(tables.summary(report), err=True)
    sys.stdout.flush()
    ctx.exit(report.exit_code)
