"""Options that several commands share."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from tritonport.config import Config, default_triton, load_config, normalize_target, normalize_triton
from tritonport.report import FORMATS, Selection, make_selection

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_TARGET = "sm_90"
STDIN = "-"
UPGRADES = ("async-copy", "tma", "multibuffer", "mma", "all")
CHECKED_STAGES = ("async-copy", "tma", "multibuffer", "mma")


class _Checked(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.4 on
    """A parameter that a function checks and normalises; its ValueError is a usage error."""

    def __init__(self, name: str, convert: Callable[[str], str]) -> None:
        self.name = name
        self._convert = convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The normalised value."""
        try:
            return self._convert(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


TARGET = _Checked("target", normalize_target)
TRITON = _Checked("version", normalize_triton)


def target_option(command: Command) -> Command:
    """`--target sm_90`; None where the user gives none."""
    return click.option(
        "--target", type=TARGET, help=f"Architecture to write for, e.g. sm_80 or sm_100.  [default: {DEFAULT_TARGET}]"
    )(command)


def triton_option(command: Command) -> Command:
    """`--triton 3.6`; None where the user gives none."""
    return click.option(
        "--triton", type=TRITON, help="Triton version to write for, 3.6 to 3.9.  [default: the installed one, else 3.9]"
    )(command)


def stage_option(required: bool, stages: Sequence[str] = UPGRADES) -> Callable[[Command], Command]:
    """`--stage async-copy`; None where the user gives none."""
    return click.option(
        "--stage", type=click.Choice(stages), required=required, help="How far to go, or what to show the accesses for."
    )


def check_pairs(stages: Iterable[str], targets: Iterable[str]) -> None:
    """Refuse a stage that there is not for a target, by name. Raises click.UsageError."""
    from tritonport.upgrade import no_such_pair

    for target in targets:
        for stage in stages:
            if (wrong := no_such_pair(stage, target)) is not None:
                raise click.UsageError(wrong)


def kernel_option(command: Command) -> Command:
    """`--kernel NAME`, repeatable."""
    return click.option("--kernel", "kernels", metavar="NAME", multiple=True, help="Only this kernel; repeatable.")(
        command
    )


def selection_options(command: Command) -> Command:
    """`--select` and `--ignore`, repeatable and comma-separated."""
    for name, text in (("ignore", "Do not report"), ("select", "Report only")):
        command = click.option(
            f"--{name}", metavar="CODE", multiple=True, help=f"{text} these codes, prefixes or names; repeatable."
        )(command)
    return command


def report_options(command: Command) -> Command:
    """`--output-format`, `--report` and `--statistics`."""
    command = click.option("--statistics", is_flag=True, help="Count the findings by code.")(command)
    command = click.option(
        "--report", "report_file", metavar="FILE", type=click.Path(dir_okay=False), help="Write the report as JSON."
    )(command)
    return click.option(
        "--output-format", type=click.Choice(FORMATS), help="How findings are written.  [default: full]"
    )(command)


@dataclass(frozen=True)
class RunFlags:
    """The flags that `convert` and `check` share, as given: None or empty where the user gave none."""

    kernels: tuple[str, ...]
    target: str | None
    triton: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    output_format: str | None
    report_file: str | None
    statistics: bool
    stdin_filename: str | None
    jobs: int | None
    quiet: bool
    verbose: bool


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """All options of `RunFlags`; the command gets them as its parameter `flags`."""

    @wraps(command)
    def with_flags(*args: Any, **given: Any) -> None:
        flags = RunFlags(**{one.name: given.pop(one.name) for one in fields(RunFlags)})
        command(*args, flags=flags, **given)

    wrapped: Callable[..., None] = with_flags
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="List every kernel; show internal errors in full."),
        click.option("-q", "--quiet", is_flag=True, help="Only errors."),
        click.option(
            "-j", "--jobs", type=click.IntRange(min=0), help="Processes at once; 0: one per core.  [default: 1]"
        ),
        click.option("--stdin-filename", metavar="PATH", help="What messages call the standard input (PATH -)."),
        report_options,
        selection_options,
        triton_option,
        target_option,
        kernel_option,
    ):
        wrapped = option(wrapped)
    return wrapped


def paths_argument(command: Command) -> Command:
    """PATH..., at least one; `-` is standard input."""
    return click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())(command)


def config_for(paths: tuple[str, ...], stdin_filename: str | None = None) -> Config:
    """The settings for a command line: of the project that the first path lies in. Raises InputError (TP005)."""
    first = (stdin_filename or ".") if paths[:1] in ((), (STDIN,)) else paths[0]
    start = Path(first)
    return load_config(start if start.is_dir() else start.parent)


def chosen_target(flag: str | None, config: Config) -> str:
    """The target: the flag, else the setting, else the default."""
    return flag or config.target or DEFAULT_TARGET


def chosen_triton(flag: str | None, config: Config) -> str:
    """The Triton version: the flag, else the setting, else the installed one or the newest known."""
    return flag or config.triton or default_triton()


def chosen_selection(select: tuple[str, ...], ignore: tuple[str, ...], config: Config) -> Selection:
    """The selection: each flag, else its setting. Raises click.BadParameter."""
    try:
        return make_selection(
            _split(select) if select else config.select or (), _split(ignore) if ignore else config.ignore or ()
        )
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--select' / '--ignore'") from None


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item.strip() for value in values for item in value.split(",") if item.strip())
