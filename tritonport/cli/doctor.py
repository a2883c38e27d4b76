"""`tritonport doctor`: what is installed and what can run here."""

import click


@click.command("doctor", short_help="Versions, targets, GPU, and what can run here.")
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", help="[default: full]")
@click.pass_context
def doctor_command(ctx: click.Context, output_format: str) -> None:
    """Say what is installed, which targets are known, and what can run on this machine.

    Exits with 1 where what is installed does not fit together.
    """
    from tritonport.report import DONE, FINDINGS
    from tritonport.run.doctor import diagnose, diagnosis_text

    diagnosis = diagnose()
    if output_format == "json":
        import json
        from dataclasses import asdict

        click.echo(json.dumps({"schema_version": 1, **asdict(diagnosis)}, indent=2))
    else:
        click.echo(diagnosis_text(diagnosis), nl=False)
    ctx.exit(FINDINGS if diagnosis.problems else DONE)
