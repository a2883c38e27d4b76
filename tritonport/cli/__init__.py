"""The command line. One file per command; a file that is added here is a command."""

import gc

from tritonport.cli._group import CommandsFromFiles, cli

__all__ = ["CommandsFromFiles", "cli", "main"]


def main() -> None:
    """The entry point of the `tritonport` script."""
    # Syntax trees are many small objects, nearly all alive until the end: searching them for garbage as often as Python
    # does by default takes a third of the time of a short run, and once more at exit.
    gc.set_threshold(200_000, 50, 50)
    try:
        cli()
    finally:
        gc.freeze()
