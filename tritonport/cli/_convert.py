"""What `convert`, `upgrade` and `check` share: from flags to a request, its results, and their usage errors."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from tritonport.cli import _options as options
from tritonport.cli._options import STDIN, RunFlags
from tritonport.cli._report import print_report, write_report
from tritonport.config import Config

_OUTPUT = "Write the one result here."
_OUT_DIR = "Write the results into a directory."

if TYPE_CHECKING:
    from tritonport.run.convert_file import Recover
    from tritonport.run.deliver import Destination
    from tritonport.run.request import Outcome, Request


def destination_options(command: Callable[..., None]) -> Callable[..., None]:
    """The flags that say where results go: -o, --out-dir, -w, --diff, --check."""
    for option in (
        click.option("--check", is_flag=True, help="Write nothing; exit with 1 where something would change."),
        click.option("--diff", is_flag=True, help="Print what would change; write nothing."),
        click.option("-w", "--write", is_flag=True, help="Write each result in place of its file."),
        click.option("--out-dir", metavar="DIR", type=click.Path(file_okay=False), help=_OUT_DIR),
        click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help=_OUTPUT),
    ):
        command = option(command)
    return command


def request_from(
    paths: tuple[str, ...], config: Config, flags: RunFlags, out_dir: str | None = None, stage: str = "literal"
) -> "Request":
    """The request that flags and settings make; reads standard input where a path is `-`."""
    from tritonport.convert import ConvertOptions
    from tritonport.run.request import Request

    jobs = flags.jobs if flags.jobs is not None else config.jobs
    return Request(
        paths=paths,
        options=ConvertOptions(
            triton=options.chosen_triton(flags.triton, config),
            target=options.chosen_target(flags.target, config),
            kernels=frozenset(flags.kernels) if flags.kernels else None,
            stage=stage,
        ),
        selection=options.chosen_selection(flags.select, flags.ignore, config),
        exclude=config.exclude or (),
        output=Path(out_dir) if out_dir is not None else None,
        stdin=sys.stdin.buffer.read() if STDIN in paths else b"",
        stdin_path=flags.stdin_filename or "<stdin>",
        jobs=1 if jobs is None else jobs,
    )


def convert_all(request: "Request", flags: RunFlags) -> "list[Outcome]":
    """Run a request with progress on standard error; with `-v`, show what internal errors looked like."""
    from tritonport.run.progress import ProgressLine
    from tritonport.run.request import run

    progress = ProgressLine(flags.quiet)
    outcomes = run(request, progress)
    progress.clear()
    if flags.verbose:
        for one in outcomes:
            if one.result.traceback:
                click.echo(f"{one.result.report.path}:\n{one.result.traceback}", err=True)
    return outcomes


def delivered(
    request: "Request", destination: "Destination", flags: RunFlags, config: Config, *, diff: bool, check: bool
) -> int:
    """Run a request, put the results where they go and report on standard error; returns the exit code."""
    from tritonport.run.deliver import deliver
    from tritonport.run.request import report_of

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
    return report.exit_code


def checked_destination(
    paths: tuple[str, ...],
    output: str | None,
    out_dir: str | None,
    write: bool,
    diff: bool,
    check: bool,
    follow: bool = False,
) -> "Destination":
    """Where the results go; raises click.UsageError for flags that contradict each other or the paths."""
    from tritonport.run.deliver import Destination

    asked = {"-o": output is not None, "--out-dir": out_dir is not None, "-w": write, "--diff/--check": diff or check}
    given = [flag for flag, is_set in asked.items() if is_set]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} exclude each other.")
    several = len(paths) > 1 or any(os.path.isdir(path) for path in paths)
    if output is not None and several:
        raise click.UsageError("-o takes the result of one file; use --out-dir or -w for several.")
    if not given and several:
        what = "Several files" if len(paths) > 1 else f"{paths[0]} is a directory"
        raise click.UsageError(f"{what}: say where the results go with --out-dir, -w, --diff or --check.")
    if STDIN in paths and (write or out_dir is not None):
        raise click.UsageError("The text on standard input has no file: -w and --out-dir cannot be used with it.")
    if follow and (output is not None or not given):
        raise click.UsageError("--follow writes several files: say where with --out-dir or -w, or use --diff.")
    destination = Destination(
        file=Path(output) if output is not None and output != STDIN else None,
        directory=Path(out_dir) if out_dir is not None else None,
        in_place=write,
        diff=diff,
        nothing=check and not diff,
        packages=follow,
    )
    if out_dir is not None:
        _check_collisions(paths, Path(out_dir), destination)
    return destination


def checked_recovery(
    paths: tuple[str, ...], layouts: str, case: Path | None, guess_signature: bool, specialisation: int | None
) -> "Recover | None":
    """How to recover layouts, None where they are not asked for; raises click.UsageError."""
    from tritonport.run.convert_file import Recover

    if layouts != "recovered":
        if case is not None or guess_signature or specialisation is not None:
            raise click.UsageError("--case, --guess-signature and --specialisation go with --layouts recovered.")
        return None
    if STDIN in paths:
        raise click.UsageError("--layouts recovered compiles the file: it cannot be used with standard input.")
    if case is not None and (len(paths) != 1 or os.path.isdir(paths[0])):
        raise click.UsageError("--case takes one file")
    from tritonport.packages import lacking

    if why := lacking("triton"):
        raise click.UsageError(f"--layouts recovered compiles the file, and {why}")
    return Recover(case, guess_signature, specialisation or 1)


def _check_collisions(paths: tuple[str, ...], out_dir: Path, destination: "Destination") -> None:
    from tritonport.source.paths import find_inputs

    taken: dict[Path, str] = {}
    for one in find_inputs(paths, output=out_dir):
        place = destination.below(one)
        other = taken.setdefault(place, one.path)
        if other != one.path:
            raise click.UsageError(f"--out-dir: {other} and {one.path} would both be written to {place}.")


def writer(stdout: BinaryIO) -> Callable[[bytes], object]:
    """What writes bytes to standard output."""
    return stdout.write


def show_diff(stdout: BinaryIO) -> Callable[[bytes], object]:
    """A writer for diffs: in colour where standard output is a terminal."""
    if not stdout.isatty() or os.environ.get("NO_COLOR"):
        return writer(stdout)
    colours = {"+": "green", "-": "red", "@": "cyan"}

    def write(data: bytes) -> None:
        for line in data.decode().splitlines(keepends=True):
            bold = line.startswith(("+++ ", "--- "))
            colour = None if bold else colours.get(line[:1])
            click.echo(click.style(line, fg=colour, bold=bold), nl=False)

    return write
