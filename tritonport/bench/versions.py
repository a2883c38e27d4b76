"""The versions of a file that are timed: the original, its port stage by stage, and a port that is given."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tritonport.convert import Conversion, ConvertOptions, convert_text
from tritonport.report import Diagnostic, InputError
from tritonport.upgrade import stages
from tritonport.verify.case import read_source

LITERAL = "literal"
PORT = "port"
"""The name of a port that the user gives."""


@dataclass(frozen=True)
class Version:
    """One version of a file.

    Attributes:
        stage: its name.
        text: its source; None where there is none to time.
        code_file: the file that holds the text; None where it was made here.
        reason: why there is none.
        failed: whether that is a fault, and not that the stage does not apply.
    """

    stage: str
    text: str | None
    code_file: Path | None = None
    reason: str = ""
    failed: bool = False


def known_stages() -> tuple[str, ...]:
    """Every stage that there is, in order."""
    return (LITERAL, *stages.STAGES)


def stages_until(stage: str) -> tuple[str, ...]:
    """The literal port and the stages up to one; all for a name, such as `all`, that is none of them."""
    known = known_stages()
    return known[: known.index(stage) + 1] if stage in known else known


def check_stage(name: str) -> str:
    """A stage, or several in the order in which they are applied: `tma+multibuffer`. Raises ValueError."""
    unknown = [part for part in name.split("+") if part not in known_stages()]
    if unknown:
        raise ValueError(f"no stage {unknown[0]!r}; known: {', '.join(known_stages())}")
    return name


def versions_of(file: Path, names: Sequence[str], triton: str, target: str, port: Path | None = None) -> list[Version]:
    """The versions of a file, in order; one that is the same program as an earlier one has nothing to time.

    Args:
        names: the stages, as `check_stage` takes them.
        triton: the Triton version that runs them, e.g. "3.6".
        target: the architecture that they are written for.
        port: a file that holds a port.

    Raises InputError where the file, or the port, cannot be read or does not parse.
    """
    text = read_source(file)
    same = {_program(text): "the original"}
    found: list[Version] = []
    for name in names:
        made = _staged(text, str(file), name, triton, target)
        if isinstance(made, Version):
            found.append(made)
            continue
        earlier = same.setdefault(_program(made.text), name)
        if earlier == name:
            found.append(Version(name, made.text))
        else:
            found.append(Version(name, None, None, _why_same(made.diagnostics, earlier)))
    if port is not None:
        found.append(Version(PORT, read_source(port), port))
    return found


def _staged(text: str, path: str, name: str, triton: str, target: str) -> Conversion | Version:
    """The file taken to a stage, or a version that says why it cannot be."""
    try:
        for part in name.split("+"):
            options = ConvertOptions(triton=triton, target=target, stage=part)
            upgrade = convert_text if part == LITERAL else stages.upgrade_text
            made = upgrade(text, path=path, options=options)
            text = made.text
    except InputError as error:
        if error.diagnostic.code == "TP001":
            raise
        return Version(name, None, None, error.diagnostic.message)
    except Exception as error:
        # A fault of one stage is no reason not to time the others.
        return Version(name, None, None, f"tritonport failed on this file: {type(error).__name__}: {error}", True)
    return made


def _program(text: str) -> str:
    """What a file says without its comments: the header names stages that changed nothing."""
    return ast.dump(ast.parse(text))


def _why_same(diagnostics: Sequence[Diagnostic], earlier: str) -> str:
    """Why a stage changes nothing, by what it says of the accesses or kernels that it left."""
    found = [one for one in diagnostics if one.severity != "info"]
    if not found:
        return f"nothing in the file for it; the same as {earlier}"
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"the same as {earlier}: line {first.line}: {first.code} {first.message}{more}"
