"""Commands that take another command after `--`."""

import click

_META = "tritonport.command_after_dashes"


class AfterDashes(click.Command):
    """A command whose arguments end at `--`; what follows is the words of another command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, on what stands before `--`."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_META] = tuple(args[at + 1 :])
            args = args[:at]
            if not ctx.meta[_META]:
                ctx.fail("-- must be followed by a command, such as pytest tests/")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line names the command."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


def command_after_dashes(ctx: click.Context) -> tuple[str, ...]:
    """The words after `--`; none where there is no `--`."""
    command: tuple[str, ...] = ctx.meta.get(_META, ())
    return command
