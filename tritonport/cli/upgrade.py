"""`tritonport upgrade`: one stage further than the literal port."""

import sys

import click

from tritonport.cli import _options as options
from tritonport.cli._convert import checked_destination, convert_all, request_from, show_diff, writer
from tritonport.cli._options import RunFlags
from tritonport.cli._report import print_report, write_report


@click.command("upgrade", short_help="A ported file (or a Triton file) one stage further.")
@options.paths_argument
@options.stage_option(required=True)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write the one result here.")
@click.option("--out-dir", metavar="DIR", type=click.Path(file_okay=False), help="Write the results into a directory.")
@click.option("-w", "--write", is_flag=True, help="Write each result in place of its file.")
@click.option("--diff", is_flag=True, help="Print what would change; write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where something would change.")
@options.run_options
@click.pass_context
def upgrade_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    stage: str,
    output: str | None,
    out_dir: str | None,
    write: bool,
    diff: bool,
    check: bool,
    flags: RunFlags,
) -> None:
    """Take kernels one stage further: `async-copy` sends the tiles that dots read through cp.async.

    A Triton file is converted first. What a stage cannot prove to be right stays as it was, with the access, the
    condition and the line. The result goes where `tritonport convert` would write it.
    """
    from tritonport.run.deliver import deliver
    from tritonport.run.request import report_of

    destination = checked_destination(paths, output, out_dir, write, diff, check)
    config = options.config_for(paths, flags.stdin_filename)
    request = request_from(paths, config, flags, out_dir, stage)
    stdout = sys.stdout.buffer
    print_bytes = show_diff(stdout) if diff else writer(stdout)
    outcomes = deliver(convert_all(request, flags), destination, print_bytes)
    stdout.flush()
    report = report_of(outcomes, check=check)
    print_report(
        report,
        flags.output_format or config.output_format or "full",
        err=True,
        quiet=flags.quiet,
        kernels=flags.verbose,
        statistics=flags.statistics,
    )
    write_report(report, flags.report_file)
    ctx.exit(report.exit_code)
