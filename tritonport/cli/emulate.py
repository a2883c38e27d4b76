"""`tritonport emulate`: kernel files as they stand, on the CPU, with their races and faults."""

import os

import click

from tritonport.cli._options import TARGET, config_for, paths_argument
from tritonport.cli.parity_check import Progress, seeds_of, show_results
from tritonport.report import FORMATS


@click.command("emulate")
@paths_argument
@click.option("--target", type=TARGET, help="The GPU to play: sm_80, sm_90, sm_100.  [default: sm_90]")
@click.option("--case", metavar="FILE", type=click.Path(dir_okay=False), help="The case of the one PATH.")
@click.option("--seeds", metavar="0,1,2", callback=seeds_of, help="Seeds.  [default: the case's, else 0,1,2]")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), help="For a file.  [default: 60]"
)
@click.option("--output-format", type=click.Choice(FORMATS), help="How the report is written.  [default: full]")
@click.option("--report", "report_file", metavar="FILE", type=click.Path(dir_okay=False), help="Write it as JSON too.")
@click.option("-j", "--jobs", type=click.IntRange(min=0), help="Files at once; 0: one per core.  [default: 1]")
@click.option("-q", "--quiet", is_flag=True, help="Only files that do not pass, and no summary.")
@click.option("-v", "--verbose", is_flag=True, help="Notes of passing files too.")
@click.pass_context
def emulate_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    target: str | None,
    case: str | None,
    seeds: tuple[int, ...] | None,
    timeout: float | None,
    output_format: str | None,
    report_file: str | None,
    jobs: int | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Run Gluon and Triton kernels on the CPU and find their faults: no GPU, no port.

    How a file is run says its case: make_inputs, launch and reference in the file itself, or in <stem>_case.py beside
    it. Reads of what is not there yet, buffers overwritten while in use, missing fences, waits that never end and
    accesses outside of tensors end the run at their line; results are compared with the reference.

    Exit codes: 0 no fault, and equal to the reference; 1 a fault or a wrong result; 2 the input cannot be used;
    3 nothing was compared.
    """
    from tritonport.source.paths import find_inputs
    from tritonport.verify.alone import EmulateOptions, emulate_files
    from tritonport.verify.parity import DEFAULT_TIMEOUTS, takes_part

    config = config_for(paths)
    inputs = find_inputs(paths, config.exclude or ())
    files = [one.path for one in inputs if one.explicit or takes_part(one.file)]
    if case is not None and len(files) != 1:
        raise click.UsageError(f"--case takes one kernel file, not {len(files)}")
    options = EmulateOptions(
        target=target or config.target or "sm_90",
        case=case,
        seeds=seeds,
        timeout=timeout or DEFAULT_TIMEOUTS["T2"],
        jobs=(config.jobs or 1 if jobs is None else jobs) or os.cpu_count() or 1,
    )
    progress = Progress(len(files), quiet)
    results = emulate_files(files, options, progress)
    show_results(ctx, results, progress, report_file, output_format or config.output_format, quiet, verbose)
