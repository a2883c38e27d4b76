"""`tritonport bench`: the original against each stage of its port, on a GPU."""

import ast
import json
import sys
from pathlib import Path
from typing import Any

import click

from tritonport.cli._options import TARGET, chosen_triton, config_for, paths_argument
from tritonport.cli.parity_check import Progress, seeds_of


def _stages(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        return ()
    from tritonport.bench.versions import check_stage

    names = dict.fromkeys(name.strip() for item in value for name in item.split(",") if name.strip())
    try:
        return tuple(check_stage(name) for name in names)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_Sizes = dict[tuple[str, ...], tuple[Any, ...]]


def _sizes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> _Sizes:
    found: _Sizes = {}
    for item in value:
        left, _, values = item.partition("=")
        names = tuple(name.strip() for name in left.split(","))
        if not all(name.isidentifier() for name in names) or not all(one.strip() for one in values.split(",")):
            raise click.BadParameter(f"{item!r} is not NAME=VALUE,VALUE such as M=1024,2048")
        found[names] = tuple(_value(one.strip()) for one in values.split(","))
    return found


def _value(text: str) -> Any:
    """A number, True, False or None as Python writes it; anything else is a string."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@click.command("bench", short_help="Original against each stage, timed on a GPU.")
@paths_argument
@click.option(
    "--case", "cases", metavar="FILE", multiple=True, type=click.Path(dir_okay=False), help="A case of the one PATH."
)
@click.option(
    "--stage",
    "stages",
    metavar="STAGE",
    multiple=True,
    callback=_stages,
    help="Only these; tma+mma: both.  [default: all]",
)
@click.option("--port", metavar="FILE", type=click.Path(dir_okay=False), help="A port of the one PATH to time too.")
@click.option(
    "--size", "sizes", metavar="NAME=V,V", multiple=True, callback=_sizes, help="Values of a size that the case has."
)
@click.option("--seeds", metavar="0,1,2", callback=seeds_of, help="For a case that offers nothing to time.")
@click.option("--target", type=TARGET, help="Architecture to write for.  [default: that of the GPU]")
@click.option("--min-speed", metavar="RATIO", type=click.FloatRange(min=0, min_open=True), help="Fail below this.")
@click.option("--plot", metavar="FILE.png", type=click.Path(dir_okay=False), help="Write a picture too.")
@click.option("--rounds", type=click.IntRange(min=2), default=7, show_default=True, help="Medians of each stage.")
@click.option("--iterations", type=click.IntRange(min=1), default=36, show_default=True, help="Samples in a round.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), help="For a file.  [default: 600]"
)
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", show_default=True)
@click.option("--report", "report_file", metavar="FILE", type=click.Path(dir_okay=False), help="Write it as JSON too.")
@click.option("-q", "--quiet", is_flag=True, help="No line of progress.")
@click.pass_context
def bench_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    cases: tuple[str, ...],
    stages: tuple[str, ...],
    port: str | None,
    sizes: _Sizes,
    seeds: tuple[int, ...] | None,
    target: str | None,
    min_speed: float | None,
    plot: str | None,
    rounds: int,
    iterations: int,
    timeout: float | None,
    output_format: str,
    report_file: str | None,
    quiet: bool,
) -> None:
    """Time kernel files against every stage of their ports, launch by launch and in turns, on a GPU.

    What is timed says the case of a file: bench_inputs, else its make_inputs. A stage that computes something else than
    the original is not timed. --min-speed is a gate for the stages that --stage names, else for the last that applies.

    Exit codes: 0 timed and right; 1 a stage is wrong, fails or is below --min-speed; 2 the input cannot be used; 3
    nothing was timed, for instance because there is no GPU.
    """
    from tritonport.bench.interleave import Effort
    from tritonport.bench.plot import can_plot, save_plot
    from tritonport.bench.result import exit_code, gate_failures
    from tritonport.bench.run import DEFAULT_TIMEOUT, BenchOptions, bench_files, takes_part
    from tritonport.bench.table import print_tables, text_table, to_json
    from tritonport.run.textfile import write_atomically
    from tritonport.source.paths import find_inputs

    if plot is not None and not can_plot():
        raise click.UsageError("--plot needs matplotlib; pip install 'tritonport[bench]'")
    config = config_for(paths)
    inputs = find_inputs(paths, config.exclude or ())
    files = [one.path for one in inputs if one.explicit or takes_part(one.file)]
    for flag, given in (("--case", cases), ("--port", port)):
        if given and len(files) != 1:
            raise click.UsageError(f"{flag} takes one kernel file, not {len(files)}")
    options = BenchOptions(
        stages=stages,
        cases=cases,
        port=port,
        sizes=sizes,
        seeds=seeds,
        triton=chosen_triton(None, config),
        target=target,
        effort=Effort(rounds, iterations),
        timeout=timeout or DEFAULT_TIMEOUT,
    )
    progress = Progress(len(files), quiet)
    found = bench_files(files, options, progress)
    progress.clear()
    failures = gate_failures(found, min_speed, (*stages, "port") if stages and port else stages)
    document = json.dumps(to_json(found, failures, min_speed), indent=2) + "\n"
    if report_file is not None:
        write_atomically(Path(report_file), document.encode(), report_file)
    if output_format == "json":
        click.echo(document, nl=False)
    elif not (sys.stdout.isatty() and print_tables(found)):
        click.echo(text_table(found), nl=False)
    if plot is not None and any(size.timings for file in found for size in file.sizes):
        save_plot(found, Path(plot))
    for failure in failures:
        click.echo(f"below --min-speed: {failure}", err=True)
    if not found:
        click.echo("no kernel file with a case that offers bench_inputs", err=True)
    ctx.exit(exit_code(found, failures))
