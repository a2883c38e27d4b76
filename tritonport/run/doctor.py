"""What is installed, and what can therefore run here."""

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from tritonport import __version__
from tritonport.packages import lacking
from tritonport.rules_data import TRITON_VERSIONS, load_targets, version_key

_PACKAGES = ("libcst", "click", "triton", "torch", "numpy", "pytest")
# The last Triton whose interpreter calls a function that NumPy 2.4 no longer has.
_OLD_INTERPRETER = (3, 6)


@dataclass(frozen=True)
class Ability:
    """Something tritonport can do: whether it can here, and if not what is missing."""

    name: str
    works: bool
    why: str


@dataclass(frozen=True)
class Diagnosis:
    """What `tritonport doctor` prints.

    Attributes:
        versions: of tritonport, Python and the packages; None for one that is not installed.
        gpu: the name of the first GPU that torch can use; None where there is none.
        abilities: what works here.
        problems: what is installed and does not fit together.
    """

    versions: dict[str, str | None]
    gpu: str | None
    abilities: tuple[Ability, ...]
    problems: tuple[str, ...]


def diagnose() -> Diagnosis:
    """Look at this machine. Imports torch where it is installed, to ask it for a GPU."""
    versions: dict[str, str | None] = {"tritonport": __version__, "python": platform.python_version()}
    versions.update({name: _version(name) for name in _PACKAGES})
    gpu, gpu_why = _gpu(versions)
    return Diagnosis(versions, gpu, tuple(_abilities(versions, gpu, gpu_why)), tuple(_problems(versions)))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _gpu(versions: dict[str, str | None]) -> tuple[str | None, str]:
    if versions["torch"] is None:
        return None, "torch is not installed"
    try:
        import torch

        if torch.cuda.is_available():
            major, minor = torch.cuda.get_device_capability(0)
            return f"{torch.cuda.get_device_name(0)} (sm_{major}{minor})", ""
        if torch.version.cuda is None and torch.version.hip is None:
            return None, "this torch is built without GPU support"
    except Exception as error:  # a broken driver raises whatever it likes, and that is the answer
        return None, f"torch cannot use a GPU: {error}"
    return None, "torch finds no GPU"


def _abilities(versions: dict[str, str | None], gpu: str | None, gpu_why: str) -> Iterator[Ability]:
    lacks = lacking("triton", "torch", "numpy")
    compiles = lacking("triton")
    linux = sys.platform == "linux"
    compiles = compiles or ("" if linux else "Triton is built for Linux only")
    yield Ability("convert, upgrade, check, rule, explain", True, "")
    yield Ability("compile (offline, no GPU)", not compiles, compiles)
    yield Ability("parity-check on the CPU", not lacks, lacks)
    yield Ability("parity-check and bench on a GPU", gpu is not None and not lacks, lacks or gpu_why)


def _problems(versions: dict[str, str | None]) -> Iterator[str]:
    triton, numpy = versions["triton"], versions["numpy"]
    if triton is not None and not _known(triton):
        yield f"triton {triton} is not one that tritonport knows ({TRITON_VERSIONS[0]} to {TRITON_VERSIONS[-1]})"
    old = triton is not None and version_key(triton) <= _OLD_INTERPRETER
    if old and numpy is not None and version_key(numpy) >= (2, 4):
        yield f"the interpreter of triton {triton} needs numpy<2.4, and numpy {numpy} is installed"


def _known(triton: str) -> bool:
    return version_key(triton) in {version_key(known) for known in TRITON_VERSIONS}


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """For a person."""
    lines = [f"{name:<11}{found or 'not installed'}" for name, found in diagnosis.versions.items()]
    lines += [f"{'gpu':<11}{diagnosis.gpu or 'none'}", f"{'targets':<11}{', '.join(load_targets())}", ""]
    for ability in diagnosis.abilities:
        lines.append(f"{'yes' if ability.works else 'no':<5}{ability.name}{f': {ability.why}' if ability.why else ''}")
    lines += [f"\nproblem: {problem}" for problem in diagnosis.problems]
    return "\n".join(lines) + "\n"
