"""`tritonport check`: what `convert` would do, and why not more."""

import sys
from typing import TYPE_CHECKING

import click

from tritonport.cli import _options as options
from tritonport.cli._convert import convert_all, request_from
from tritonport.cli._options import RunFlags
from tritonport.cli._report import print_report, write_report

if TYPE_CHECKING:
    from tritonport.run.request import Outcome


@click.command("check", short_help="What would convert, what would not and why; writes nothing.")
@options.paths_argument
@options.stage_option(required=False, stages=options.CHECKED_STAGES)
@click.option("--skip-without-kernels", is_flag=True, help="Pass over files without kernels; none left is success.")
@options.run_options
@click.pass_context
def check_command(
    ctx: click.Context, paths: tuple[str, ...], stage: str | None, skip_without_kernels: bool, flags: RunFlags
) -> None:
    """Say of each kernel whether it would convert, and if not why. Writes nothing.

    Exits with 1 where a kernel would be left as it is. With --stage: a table of every load and store, its address,
    tile, bounds and advance, and which of them the stage may change; the reasons follow.
    """
    if stage is not None:
        if skip_without_kernels:
            raise click.UsageError("--skip-without-kernels is for a check without --stage")
        ctx.exit(_check_stage(paths, stage, flags))
    from tritonport.run.request import report_of

    config = options.config_for(paths, flags.stdin_filename)
    outcomes = convert_all(request_from(paths, config, flags), flags)
    if skip_without_kernels:
        outcomes = [one for one in outcomes if not _lacks_kernels(one)]
    report = report_of(outcomes, dry=True)
    print_report(
        report,
        flags.output_format or config.output_format or "full",
        err=False,
        quiet=flags.quiet,
        kernels=not flags.quiet,
        statistics=flags.statistics,
    )
    write_report(report, flags.report_file)
    ctx.exit(report.exit_code)


def _lacks_kernels(outcome: "Outcome") -> bool:
    """Whether all there is to say of a path is that it has no kernel."""
    found = outcome.result.report.diagnostics
    return bool(found) and not outcome.result.has_kernels and all(one.code == "TP003" for one in found)


def _check_stage(paths: tuple[str, ...], stage: str, flags: RunFlags) -> int:
    from tritonport.report import render
    from tritonport.run.check_stage import check_stage

    config = options.config_for(paths, flags.stdin_filename)
    options.check_pairs([stage], [options.chosen_target(flags.target, config)])
    report, tables = check_stage(request_from(paths, config, flags, stage=stage))
    output_format = flags.output_format or config.output_format or "full"
    if output_format in ("full", "concise"):
        sys.stdout.write(tables)
        sys.stdout.flush()
    shown = report.only_errors() if flags.quiet else report
    click.echo(render(shown, output_format), nl=False)
    write_report(report, flags.report_file)
    return report.exit_code
