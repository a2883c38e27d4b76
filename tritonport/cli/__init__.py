"""The command line. One file per command; a file that is added here is a command."""

from tritonport.cli._group import CommandsFromFiles, cli

__all__ = ["CommandsFromFiles", "cli", "main"]


def main() -> None:
    """The entry point of the `tritonport` script."""
    cli()
