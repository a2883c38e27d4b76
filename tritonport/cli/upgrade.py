"""`tritonport upgrade`: one stage further than the literal port."""

import click

from tritonport.cli import _options as options
from tritonport.cli._convert import checked_destination, delivered, destination_options, request_from
from tritonport.cli._options import RunFlags


@click.command("upgrade", short_help="A ported file (or a Triton file) one stage further.")
@options.paths_argument
@options.stage_option(required=True)
@destination_options
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
    destination = checked_destination(paths, output, out_dir, write, diff, check)
    config = options.config_for(paths, flags.stdin_filename)
    request = request_from(paths, config, flags, out_dir, stage)
    ctx.exit(delivered(request, destination, flags, config, diff=diff, check=check))
