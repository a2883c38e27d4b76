"""What a tier is asked to do, and the port that it works on."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tritonport.report.diagnostic import Diagnostic
from tritonport.verify.case import read_source


@dataclass(frozen=True)
class Request:
    """One tier on one kernel file, as it is handed to the process that runs it.

    Attributes:
        tier: `T0` to `T4`.
        kernel_file: the original, as the user named it.
        case: its case; None where it has none.
        port: a file that holds the port; None converts the original.
        triton: the Triton version to convert for, e.g. `3.9`.
        stage: how far to convert: `literal`, or a stage of `tritonport.upgrade`.
        targets: the architectures to compile for; the first is the one that the emulated port is written for.
        seeds: the seeds to run; None leaves that to the case.
        save_dir: where the inputs of a failure are saved; None does not save.
        replay: a saved failure, whose inputs are run in place of the case's.
        timeout: seconds for the tier.
        boundaries: run the sizes of the case at the edges of their blocks too.
    """

    tier: str
    kernel_file: str
    case: str | None = None
    port: str | None = None
    triton: str = "3.9"
    targets: tuple[str, ...] = ("sm_90",)
    seeds: tuple[int, ...] | None = None
    save_dir: str | None = None
    replay: str | None = None
    timeout: float = 60.0
    stage: str = "literal"
    boundaries: bool = True


@dataclass(frozen=True)
class Port:
    """A port of a kernel file.

    Attributes:
        text: its source.
        code_file: the file that holds it; None where it was converted here.
        diagnostics: what the conversion had to say.
        literal: whether a stage was asked for that changes nothing in it.
    """

    text: str
    code_file: Path | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    literal: bool = False


def make_port(request: Request, target: str) -> Port:
    """The port: read from the file that was given, else converted for a target.

    Raises InputError where the file cannot be read or the original does not parse.
    """
    if request.port is not None:
        return Port(read_source(Path(request.port)), Path(request.port))
    return _convert(read_source(Path(request.kernel_file)), request.kernel_file, request.triton, target, request.stage)


def stage_changes_nothing(request: Request, target: str) -> bool:
    """Whether the port of a stage beyond the literal one is the literal port all the same."""
    if request.port is not None or request.stage == "literal":
        return False
    return make_port(request, target).text == make_port(replace(request, stage="literal"), target).text


@cache
def _convert(text: str, path: str, triton: str, target: str, stage: str) -> Port:
    from tritonport.convert import ConvertOptions, convert_text

    options = ConvertOptions(triton=triton, target=target, stage=stage)
    if stage == "literal":
        conversion = convert_text(text, path=path, options=options)
    else:
        from tritonport.upgrade import upgrade_text

        conversion = upgrade_text(text, path=path, options=options)
    return Port(conversion.text, None, conversion.diagnostics)
