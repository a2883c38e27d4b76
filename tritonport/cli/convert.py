"""`tritonport convert`: Triton to Gluon, stage `literal`."""

from dataclasses import replace
from pathlib import Path

import click

from tritonport.cli import _options as options
from tritonport.cli._convert import checked_destination, checked_recovery, delivered, destination_options, request_from
from tritonport.cli._options import RunFlags


@click.command("convert", short_help="Triton to Gluon, as source that a person reads on.")
@options.paths_argument
@destination_options
@click.option("--follow", is_flag=True, help="Port helpers from other files of the project too, beside their files.")
@click.option(
    "--layouts",
    type=click.Choice(["parametric", "recovered"]),
    default="parametric",
    show_default=True,
    help="Layouts as functions of the kernel's parameters, or those Triton's compiler has for one specialisation.",
)
@click.option(
    "--case",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The case with COMPILE_SPECS, for --layouts recovered.  [default: the file itself, else <stem>_case.py]",
)
@click.option("--guess-signature", is_flag=True, help="With --layouts recovered: guess arguments that no case gives.")
@click.option(
    "--specialisation",
    metavar="N",
    type=click.IntRange(min=1),
    help="With --layouts recovered: each kernel's Nth entry in COMPILE_SPECS.  [default: 1]",
)
@options.run_options
@click.pass_context
def convert_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    output: str | None,
    out_dir: str | None,
    write: bool,
    diff: bool,
    check: bool,
    follow: bool,
    layouts: str,
    case: Path | None,
    guess_signature: bool,
    specialisation: int | None,
    flags: RunFlags,
) -> None:
    """Convert the Triton kernels of files to Gluon.

    The result of one file goes to standard output, or where -o, --out-dir or -w say; everything else goes to standard
    error. A directory stands for the .py files in it, and - for standard input. A kernel that cannot be converted stays
    as it was, with the reason; it never stops the others.

    Exit codes: 0 all were converted; 1 a kernel was left, or --check would change something; 2 the input cannot be
    used.
    """
    destination = checked_destination(paths, output, out_dir, write, diff, check, follow)
    config = options.config_for(paths, flags.stdin_filename)
    recover = checked_recovery(paths, layouts, case, guess_signature, specialisation)
    request = request_from(paths, config, flags, out_dir)
    request = replace(request, recover=recover, options=replace(request.options, follow=follow))
    ctx.exit(delivered(request, destination, flags, config, diff=diff, check=check))
