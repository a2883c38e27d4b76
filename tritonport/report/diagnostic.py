"""One finding about one place in a source file."""

from collections.abc import Iterable
from dataclasses import dataclass

from tritonport.rules_data import load_page


@dataclass(frozen=True)
class Diagnostic:
    """One finding.

    Attributes:
        code: `TPnnn`; its page is `rules/diagnostics/TPnnn.md`, with its name, severity, effort and default hint.
        message: one line that names the construct.
        path: the file as the user named it.
        line, column: of the original, from 1.
        kernel: the kernel that the finding is about, if one.
        hint: what to do; None stands for the page's hint.
    """

    code: str
    message: str
    path: str
    line: int
    column: int
    kernel: str | None = None
    hint: str | None = None

    @property
    def name(self) -> str:
        """The kebab-case name of the code."""
        return load_page(self.code).name

    @property
    def severity(self) -> str:
        """`error` (a kernel or the file was left as it was), `warning` or `info`."""
        return load_page(self.code).severity

    @property
    def effort(self) -> str:
        """What the rest takes by hand: `none`, `low`, `medium` or `high`."""
        return load_page(self.code).effort

    @property
    def advice(self) -> str:
        """What to do: the hint of this finding, else that of the page."""
        return self.hint if self.hint is not None else load_page(self.code).hint

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order in a report: by place, then by code."""
        return (self.path, self.line, self.column, self.code, self.message)


_SHOWN = 6
"""Names that a message lists before it counts the others."""


def unknown_kernel(name: str, known: Iterable[str], path: str) -> Diagnostic:
    """That no file has a kernel which was asked for (TP004): the nearest of those that they have, else all of them."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    words = f"; did you mean {near[0]!r}?" if near else f"; there are {listed}" if names else "; there is none"
    return Diagnostic("TP004", f"no kernel {name!r}{words}", path, 1, 1)


class InputError(Exception):
    """An input that cannot be used at all: unreadable, unparsable, not what was asked for. Carries the diagnostic.

    `others` are further ones about the same input.
    """

    def __init__(self, diagnostic: Diagnostic, *others: Diagnostic) -> None:
        super().__init__(diagnostic, *others)
        self.diagnostic = diagnostic
        self.others = others

    def __str__(self) -> str:
        return "\n".join(
            f"{found.path}:{found.line}:{found.column}: {found.code} {found.message}"
            for found in (self.diagnostic, *self.others)
        )
