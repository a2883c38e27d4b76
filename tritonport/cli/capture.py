"""`tritonport capture`: the launches of a run as cases."""

from pathlib import Path

import click

from tritonport.cli._after_dashes import AfterDashes, command_after_dashes
from tritonport.cli._options import TARGET
from tritonport.packages import lacking
from tritonport.report import FINDINGS, NOT_RUN


@click.command("capture", cls=AfterDashes)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(dir_okay=False))
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    default="cases",
    show_default=True,
    type=click.Path(file_okay=False),
    help="Where the cases are written.",
)
@click.option(
    "--small",
    metavar="BYTES",
    default=1 << 16,
    show_default=True,
    type=click.IntRange(min=0),
    help="Keep tensors up to this size whole.",
)
@click.option(
    "--limit",
    metavar="N",
    default=50,
    show_default=True,
    type=click.IntRange(min=1),
    help="Launches to keep of each kernel.",
)
@click.option("--emulate", "target", metavar="TARGET", type=TARGET, help="Run the kernels on the CPU, as on sm_90.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    default=3600.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="For the command.",
)
@click.pass_context
def capture_command(
    ctx: click.Context, files: tuple[str, ...], output: str, small: int, limit: int, target: str | None, timeout: float
) -> None:
    """Record the launches of a run as cases for parity-check: capture [FILE]... -o cases/ -- python train.py

    Kept are those of the kernels of FILE, or of all kernels that lie in no installed package: types, shapes, strides,
    alignment, numbers, constexprs, the grid, num_warps and the configuration that an autotuner chose, each once.
    Tensors of --small bytes at most are kept whole, others as the distribution of their elements. --limit is for each
    kernel.

    Exit codes: 0 launches were recorded; 1 the command fails; 2 the input cannot be used; 3 nothing was recorded.
    """
    command = command_after_dashes(ctx)
    if not command:
        raise click.UsageError("the command to run comes after --, such as -- python train.py")
    if why := lacking("torch", "triton"):
        click.echo(f"error: TP806 {why}", err=True)
        ctx.exit(NOT_RUN)
    if target is None:
        import torch

        target = None if torch.cuda.is_available() else "sm_90"
    from tritonport.verify.capture.run import capture_command as capture

    result = capture(files, command, Path(output), target=target, small=small, limit=limit, timeout=timeout)
    for case in result.cases:
        kernels = ", ".join(f"{kernel} ({count})" for kernel, count in case.launches.items())
        total = sum(case.launches.values())
        click.echo(f"{case.path}: {total} {'launch' if total == 1 else 'launches'}: {kernels}")
    for file, kernel, why in result.skipped:
        click.echo(f"{file}: not recorded: {kernel}: {why}", err=True)
    if result.run.code != 0:
        tail = "\n".join(result.run.last_lines(12))
        said = "did not end in time" if result.run.timed_out else f"ended with exit status {result.run.code}"
        click.echo(f"the command {said}\n{tail}", err=True)
        ctx.exit(FINDINGS)
    ctx.exit(0 if result.cases else NOT_RUN)
