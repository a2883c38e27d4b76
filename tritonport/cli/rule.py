"""`tritonport rule`: the page of one diagnostic, or of all."""

import click


@click.command("rule", short_help="The page of a diagnostic code.")
@click.argument("codes", metavar="[CODE]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All pages.")
@click.option("--list", "listed", is_flag=True, help="One line per diagnostic.")
def rule_command(codes: tuple[str, ...], every: bool, listed: bool) -> None:
    """Print what a diagnostic means and what to do about it. CODE is TP101, or its name: unsupported-call."""
    from tritonport.report.rule_page import find_page, page_text
    from tritonport.rules_data import diagnostic_codes, load_page

    if bool(codes) + every + listed != 1:
        raise click.UsageError("Give one or more codes, or --all, or --list.")
    try:
        pages = [find_page(code) for code in codes] or [load_page(code) for code in diagnostic_codes()]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if listed:
        for page in pages:
            click.echo(f"{page.code}  {page.severity:<8} {page.name}{' (reserved)' if page.reserved else ''}")
    else:
        click.echo("\n".join(page_text(page) for page in pages), nl=False)
