"""`tritonport parity-check`: original against port, from the text to the numbers."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from tritonport.cli._after_dashes import AfterDashes, command_after_dashes
from tritonport.cli._files import write_whole
from tritonport.cli._options import (
    DEFAULT_TARGET,
    TARGET,
    UPGRADES,
    check_pairs,
    chosen_triton,
    config_for,
    paths_argument,
)
from tritonport.packages import lacking
from tritonport.report import DONE, FORMATS, NOT_RUN

if TYPE_CHECKING:
    from tritonport.config import Config
    from tritonport.verify.suite import SuiteOptions
    from tritonport.verify.verdict import FileResult

_TIERS = ("T0", "T1", "T2", "T3", "T4")


def _tiers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip().upper() for name in (value or "").split(",") if name.strip()))
    unknown = [name for name in names if name not in _TIERS]
    if unknown or (value is not None and not names):
        wrong = unknown[0] if unknown else value
        raise click.BadParameter(f"no tier {wrong!r}; known: {', '.join(_TIERS)}")
    return tuple(tier for tier in _TIERS if tier in names)


def seeds_of(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """The seeds of a command line: integers from 0 on, separated by commas."""
    if value is None:
        return None
    try:
        seeds = tuple(int(seed) for seed in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of integers such as 0,1,2") from None
    if any(seed < 0 for seed in seeds):
        raise click.BadParameter("a seed is 0 or more")
    return seeds


def _targets(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    names = [name.strip() for item in value for name in item.split(",") if name.strip()]
    return tuple(dict.fromkeys(TARGET.convert(name, param, ctx) for name in names))


@click.command("parity-check", cls=AfterDashes)
@paths_argument
@click.option(
    "--tiers",
    metavar="T0,T1,...",
    callback=_tiers,
    help="Tiers to run; one that cannot run then gives 3.  [default: T0 to T3]",
)
@click.option(
    "--target",
    "targets",
    metavar="TARGET",
    multiple=True,
    callback=_targets,
    help="Architecture for T1: sm_80, sm_90, sm_100; repeatable, or separated by commas.  [default: sm_90]",
)
@click.option(
    "--stage",
    "stages",
    type=click.Choice(["literal", *UPGRADES]),
    multiple=True,
    help="How far the ports go; repeatable, each is checked.  [default: literal]",
)
@click.option("--case", metavar="FILE", type=click.Path(dir_okay=False), help="The case of the one PATH.")
@click.option(
    "--port", metavar="FILE", type=click.Path(dir_okay=False), help="The port of the one PATH, not a new one."
)
@click.option(
    "--seeds", metavar="0,1,2", callback=seeds_of, help="Seeds for the inputs.  [default: the case's, else 0,1,2]"
)
@click.option("--no-sizes", is_flag=True, help="Leave out a case's SIZES, at the edges of blocks, and its VIEWS.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="For a tier of a file.  [default: T0 60, T1 600, T2 60, T3 300, T4 900; a command 1800]",
)
@click.option(
    "--save-case", "save_dir", metavar="DIR", type=click.Path(file_okay=False), help="Save inputs of failures."
)
@click.option("--replay", metavar="FILE", type=click.Path(dir_okay=False), help="Run the inputs of a saved failure.")
@click.option("--output-format", type=click.Choice(FORMATS), help="How the report is written.  [default: full]")
@click.option("--report", "report_file", metavar="FILE", type=click.Path(dir_okay=False), help="Write it as JSON too.")
@click.option("--summary", "summary_file", metavar="FILE", type=click.Path(dir_okay=False), help="And as Markdown.")
@click.option("--skip-without-case", is_flag=True, help="Pass over files that have no case; none left is success.")
@click.option("-j", "--jobs", type=click.IntRange(min=0), help="Files at once; 0: one per core.  [default: 1]")
@click.option("-q", "--quiet", is_flag=True, help="Only files that do not pass, and no summary.")
@click.option("-v", "--verbose", is_flag=True, help="Notes of passing tiers too.")
@click.pass_context
def parity_check_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    tiers: tuple[str, ...],
    targets: tuple[str, ...],
    stages: tuple[str, ...],
    case: str | None,
    port: str | None,
    seeds: tuple[int, ...] | None,
    no_sizes: bool,
    timeout: float | None,
    save_dir: str | None,
    replay: str | None,
    output_format: str | None,
    report_file: str | None,
    summary_file: str | None,
    skip_without_case: bool,
    jobs: int | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Compare kernel files with their ports: text (T0), compile (T1), CPU emulator (T2), GPU (T3), sanitizers (T4).

    A file is converted in memory, or compared with --port. How it is run and judged says its case: make_inputs and
    launch in the file itself, or in <stem>_case.py beside it. In a directory, every kernel file that has a case is
    checked.

    With a command after --, such as `-- pytest tests/`, it runs with the originals and again with their ports in place
    of them, and is compared test by test: in the emulator (T2), or on the GPU (T3) where there is one. With several
    --stage, it runs once with the originals and once for each stage.

    Exit codes: 0 the parity holds; 1 it does not; 2 the input cannot be used; 3 nothing was compared.
    """
    from tritonport.source.paths import find_inputs
    from tritonport.verify.parity import ParityOptions, check_files, takes_part
    from tritonport.verify.suite import check_suite, has_kernel
    from tritonport.verify.verdict import DEFAULT_TIERS

    config = config_for(paths)
    command = command_after_dashes(ctx)
    if command and (case or replay or save_dir or seeds or no_sizes):
        wrong = "--case, --seeds, --no-sizes, --save-case and --replay"
        raise click.UsageError(f"{wrong} are for cases, not for a command after --")
    if port and stages:
        raise click.UsageError("--stage is for ports that are written here, not for that of --port")
    check_pairs(stages, targets or (config.target or DEFAULT_TARGET,))
    stages = tuple(dict.fromkeys(stages)) or ("literal",)
    inputs = find_inputs(paths, config.exclude or ())
    wanted = has_kernel if command else takes_part
    files = [one.path for one in inputs if (one.explicit and not skip_without_case) or wanted(one.file)]
    if skip_without_case and not files:
        ctx.exit(DONE)
    for flag, value in (("--case", case), ("--port", port), ("--replay", replay)):
        if value is not None and len(files) != 1:
            raise click.UsageError(f"{flag} takes one kernel file, not {len(files)}")
    if replay is not None and not tiers:
        # The name of a saved failure says which tier it failed.
        tiers = ("T3",) if "-T3-" in Path(replay).name else ("T2",)
    progress = Progress(len(files), quiet)
    if command and (why := lacking("torch", "triton")):
        click.echo(f"error: TP806 {why}", err=True)
        ctx.exit(NOT_RUN)
    if command:
        suite = _suite_options(command, tiers, targets, stages, config, port, timeout)
        results = check_suite(files, suite, progress)
        _summarise(results, summary_file)
        show_results(ctx, results, progress, report_file, output_format or config.output_format, quiet, verbose)
    options = ParityOptions(
        tiers=tiers or DEFAULT_TIERS,
        requested=frozenset(tiers),
        targets=targets or (config.target or DEFAULT_TARGET,),
        triton=chosen_triton(None, config),
        stages=stages,
        case=case,
        port=port,
        seeds=seeds,
        timeout=timeout,
        save_dir=save_dir,
        replay=replay,
        jobs=(config.jobs or 1 if jobs is None else jobs) or os.cpu_count() or 1,
        boundaries=not no_sizes,
    )
    results = check_files(files, options, progress)
    _summarise(results, summary_file)
    show_results(ctx, results, progress, report_file, output_format or config.output_format, quiet, verbose)


def _suite_options(
    command: tuple[str, ...],
    tiers: tuple[str, ...],
    targets: tuple[str, ...],
    stages: tuple[str, ...],
    config: "Config",
    port: str | None,
    timeout: float | None,
) -> "SuiteOptions":
    from tritonport.verify.suite import DEFAULT_TIMEOUT, SuiteOptions, default_tiers

    if set(tiers) - {"T2", "T3"}:
        raise click.UsageError("a command after -- is run on T2 (emulator) and T3 (GPU)")
    return SuiteOptions(
        command=command,
        tiers=tiers or default_tiers(),
        requested=bool(tiers),
        target=targets[0] if targets else config.target or DEFAULT_TARGET,
        triton=chosen_triton(None, config),
        stages=stages,
        port=port,
        timeout=timeout or DEFAULT_TIMEOUT,
    )


def _summarise(results: "list[FileResult]", file: str | None) -> None:
    from tritonport.verify.parity_report import render_results

    if file is not None:
        write_whole(Path(file), render_results(results, "markdown"))


def show_results(
    ctx: click.Context,
    results: "list[FileResult]",
    progress: "Progress",
    report_file: str | None,
    output_format: str | None,
    quiet: bool,
    verbose: bool,
) -> NoReturn:
    """Writes the report and exits with what the results make of the exit code."""
    from tritonport.verify.parity_report import render_results, summary
    from tritonport.verify.verdict import Verdict, exit_code

    progress.clear()
    if report_file is not None:
        write_whole(Path(report_file), render_results(results, "json"))
    shown = [one for one in results if not quiet or one.verdict not in (Verdict.PASS, Verdict.PASS_TOLERANCE)]
    click.echo(render_results(shown, output_format or "full", verbose), nl=False)
    if not quiet:
        click.echo(summary(results), err=True)
    ctx.exit(exit_code(results))


class Progress:
    """A line on standard error that says what is running, where that is a terminal."""

    def __init__(self, total: int, quiet: bool) -> None:
        self._total = total
        self._started: dict[str, None] = {}
        self._shown = not quiet and sys.stderr.isatty()

    def __call__(self, file: str, what: str) -> None:
        """Says that `what` runs on `file`."""
        self._started[file] = None
        if self._shown:
            import shutil

            width = shutil.get_terminal_size().columns - 1
            text = f"[{len(self._started)}/{self._total}] {file}: {what}"
            sys.stderr.write(f"\r{text[:width]:<{width}}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
