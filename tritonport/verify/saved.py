"""Failures on disk: the inputs of a run, to run them again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.case import Inputs
from tritonport.verify.request import Request
from tritonport.verify.side import Variation
from tritonport.verify.tensors import replace_inputs

_FORMAT = 1


@dataclass(frozen=True)
class SavedRun:
    """One run of a case.

    Attributes:
        request: the tier and the files that it was run for.
        variation: the seed and the variant.
        inputs: what the launch was given.
        original, port: what either side computed, by name.
    """

    request: Request
    variation: Variation
    inputs: Inputs
    original: Mapping[str, Any]
    port: Mapping[str, Any]


def _cpu(_: str, tensor: Any) -> Any:
    return tensor.detach().cpu().requires_grad_(tensor.requires_grad)


def save_run(folder: Path, run: SavedRun) -> Path:
    """Writes a run into a folder, which is made; returns the file.

    It is called `<stem>-<tier>-seed<n>[-variant<n>][-<size><n>...][-<view>-<input>...][-configuration<n>].pt`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    variant = f"-variant{run.variation.variant}" if run.variation.variant else ""
    variant += "".join(f"-{name}{value}" for name, value in run.variation.sizes)
    variant += "".join(f"-{kind}-{name}" for name, kind in run.variation.views)
    variant += f"-configuration{run.variation.config}" if run.variation.config else ""
    name = f"{Path(run.request.kernel_file).stem}-{run.request.tier}-seed{run.variation.seed}{variant}.pt"
    data = {
        "format": _FORMAT,
        "kernel_file": str(Path(run.request.kernel_file).resolve()),
        "case": None if run.request.case is None else str(Path(run.request.case).resolve()),
        "port": None if run.request.port is None else str(Path(run.request.port).resolve()),
        "tier": run.request.tier,
        "seed": run.variation.seed,
        "variant": run.variation.variant,
        "configuration": run.variation.config,
        "sizes": dict(run.variation.sizes),
        "views": dict(run.variation.views),
        "inputs": replace_inputs(run.inputs, _cpu),
        "original": replace_inputs(run.original, _cpu),
        "result": replace_inputs(run.port, _cpu),
    }
    temporary = folder / f".{name}.tmp"
    torch.save(data, temporary)
    return temporary.replace(folder / name)


def _read(file: Path) -> dict[str, Any]:
    try:
        # Tensors and plain values only: a file that a colleague sent runs no code.
        data = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        text = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            Diagnostic(codes.UNREADABLE, f"cannot read the saved case: {text}", str(file), 1, 1)
        ) from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise InputError(Diagnostic(codes.UNREADABLE, "not a case saved by --save-case", str(file), 1, 1))
    return data


def load_saved(file: Path) -> SavedRun:
    """Reads a saved run. Raises InputError where it is none."""
    data = _read(file)
    request = Request(data["tier"], data["kernel_file"], data["case"], data["port"])
    return SavedRun(
        request,
        Variation(
            data["seed"],
            data["variant"],
            data["configuration"],
            tuple(data.get("sizes", {}).items()),
            tuple(data.get("views", {}).items()),
        ),
        data["inputs"],
        data["original"],
        data["result"],
    )
