"""`tritonport upgrade`: one stage further than the literal port."""

import os

import click

from tritonport.cli import _options as options
from tritonport.cli._convert import checked_destination, delivered, destination_options, request_from
from tritonport.cli._options import STDIN, RunFlags
from tritonport.config import Config
from tritonport.report import FINDINGS, worst_exit_code


@click.command("upgrade", short_help="A ported file (or a Triton file) one stage further.")
@options.paths_argument
@options.stage_option(required=True)
@click.option("--keep-best", is_flag=True, help="Time the stages up to this one on a GPU, and keep the last that won.")
@click.option("--case", metavar="FILE", type=click.Path(dir_okay=False), help="The case of the one PATH to time.")
@destination_options
@options.run_options
@click.pass_context
def upgrade_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    stage: str,
    keep_best: bool,
    case: str | None,
    output: str | None,
    out_dir: str | None,
    write: bool,
    diff: bool,
    check: bool,
    flags: RunFlags,
) -> None:
    """Take kernels one stage further: `async-copy` sends the tiles that dots read through cp.async, `tma` moves tiles
    through descriptors, `multibuffer` keeps several of them under way, `mma` leaves a dot under way too. A stage takes
    those it stands on with it; `all` is every one that the target has.

    A Triton file is converted first. What a stage cannot prove to be right stays as it was, with the access, the
    condition and the line. The result goes where `tritonport convert` would write it.
    """
    destination = checked_destination(paths, output, out_dir, write, diff, check)
    config = options.config_for(paths, flags.stdin_filename)
    options.check_pairs([stage], [options.chosen_target(flags.target, config)])
    code = 0
    if keep_best:
        kept, code = _best_stage(paths, stage, case, config, flags)
        if kept is None:
            ctx.exit(code)
        stage = kept
    elif case is not None:
        raise click.UsageError("--case goes with --keep-best.")
    request = request_from(paths, config, flags, out_dir, stage)
    done = delivered(request, destination, flags, config, diff=diff, check=check)
    ctx.exit(worst_exit_code([code, done]))


def _best_stage(
    paths: tuple[str, ...], stage: str, case: str | None, config: Config, flags: RunFlags
) -> tuple[str | None, int]:
    """The stage to write, None where nothing may be written, and an exit code; says what each stage gained."""
    if len(paths) != 1 or paths[0] == STDIN or os.path.isdir(paths[0]):
        raise click.UsageError("--keep-best takes one file, whose case says what to time.")
    from tritonport.bench.best import best_of
    from tritonport.bench.result import exit_code
    from tritonport.bench.run import BenchOptions, bench_files
    from tritonport.bench.statistics import ORIGINAL
    from tritonport.bench.versions import LITERAL, stages_until
    from tritonport.cli.parity_check import Progress

    stages = stages_until(stage)
    asked = BenchOptions(
        stages=stages,
        cases=(case,) if case is not None else (),
        triton=options.chosen_triton(flags.triton, config),
        target=options.chosen_target(flags.target, config),
    )
    progress = Progress(1, flags.quiet)
    (found,) = bench_files(paths, asked, progress)
    progress.clear()
    best = best_of(found, stages)
    if not any(gain.speed is not None for gain in best.gains):
        why = found.message or "; ".join(str(gain) for gain in best.gains)
        click.echo(
            f"error: TP806 --keep-best timed nothing ({found.verdict.value}: {why}); nothing is written", err=True
        )
        return None, exit_code([found])
    if not flags.quiet:
        for gain in best.gains:
            click.echo(str(gain), err=True)
    if best.stage is None:
        return None, FINDINGS
    if not flags.quiet:
        click.echo(f"kept: {best.stage}", err=True)
    return LITERAL if best.stage == ORIGINAL else best.stage, FINDINGS if best.wrong else 0
