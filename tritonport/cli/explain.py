"""`tritonport explain`: what becomes of one name of triton.language."""

import click

from tritonport.cli import _options as options


@click.command("explain", short_help="What becomes of a name: explain tl.dot.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="The whole table, in Markdown.")
@options.triton_option
def explain_command(names: tuple[str, ...], every: bool, triton: str | None) -> None:
    """Print how names of triton.language are ported. NAME is tl.sum, sum, x.sum, tl.math.exp, triton.language.load."""
    from tritonport.config import default_triton
    from tritonport.report.api_page import entry_text, find_entry, table_markdown

    if bool(names) == every:
        raise click.UsageError("Give one or more names, or --all.")
    try:
        entries = [find_entry(name) for name in names]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if every:
        click.echo(table_markdown(), nl=False)
    else:
        version = triton or default_triton()
        click.echo("\n".join(entry_text(entry, version) for entry in entries), nl=False)
