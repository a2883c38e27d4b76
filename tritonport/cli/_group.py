"""The `tritonport` command: its subcommands are the files beside this one, each imported when it is needed."""

import contextlib
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from tritonport import __version__
from tritonport.report import UNUSABLE, InputError

# As a person meets them; a command that is not listed comes after these.
_ORDER = (
    "convert",
    "upgrade",
    "check",
    "compile",
    "parity-check",
    "emulate",
    "capture",
    "bench",
    "rule",
    "explain",
    "doctor",
)

_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_PIPE_CLOSED = 141  # 128 + SIGPIPE


def _command_names() -> list[str]:
    files = Path(__file__).parent.glob("[!_]*.py")
    names = sorted(file.stem.replace("_", "-") for file in files)
    return sorted(names, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


class CommandsFromFiles(click.Group):
    """A group whose command `parity-check` is `parity_check_command` in `parity_check.py`.

    Every error that leaves a command ends in one message and exit code 2, never in a code that means findings.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the command files."""
        return _command_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None where there is no such file."""
        if cmd_name not in _command_names():
            return None
        stem = cmd_name.replace("-", "_")
        command = getattr(import_module(f"tritonport.cli.{stem}"), f"{stem}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; an unknown command names the nearest."""
        if args[0] not in _command_names() and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], _command_names(), n=1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does it; where the reader of standard output went away, exit at once and say nothing."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_closed_pipe()
        return result

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run and exit: 0 to 3 as the command says, 2 for any error, 130 when interrupted."""
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
        except click.ClickException as error:
            error.show()
            code = UNUSABLE
        except click.Abort:
            click.echo("interrupted", err=True)
            code = _INTERRUPTED
        except InputError as error:
            for line in str(error).splitlines():
                click.echo(f"error: {line}", err=True)
            click.echo(f"  = {error.diagnostic.advice}", err=True)
            code = UNUSABLE
        except Exception:
            code = _internal_error()
        sys.exit(code if isinstance(code, int) else 0)


def _internal_error() -> int:
    import traceback

    traceback.print_exc()
    click.echo("error: TP901 tritonport itself failed; please report the lines above", err=True)
    return UNUSABLE


def _leave_closed_pipe() -> NoReturn:
    # The reader of standard output went away (`| head`): say nothing, and keep Python from flushing into it at exit.
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(_PIPE_CLOSED)


@click.group(cls=CommandsFromFiles, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="tritonport", message="%(prog)s %(version)s")
def cli() -> None:
    """Port Triton kernels to Gluon, and prove each step.

    Exit codes: 0 done, the parity holds; 1 findings; 2 usage, unreadable input or an internal error; 3 not run or not
    comparable.
    """
