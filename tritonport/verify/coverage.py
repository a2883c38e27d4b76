"""What a case leaves untried of a port: kernels that it never launches, masks that it never turns off."""

from collections.abc import Mapping, Set
from typing import Any

from tritonport.verify.case import PORT_MARK, Case
from tritonport.verify.compile.kernels import find_kernels
from tritonport.verify.request import Request


def coverage_notes(
    request: Request, port_text: str, port: Case, launched: Set[str], masks: Mapping[Any, Any]
) -> list[str]:
    """Notes for the reader of a report.

    Args:
        port: the case with the port in place of the original.
        launched: the names of the kernels that were launched.
        masks: of the emulator: what the masked accesses of each line have met.
    """
    entries = {one.name for one in find_kernels(port_text) if one.language == "gluon" and one.launches}
    missing = sorted(entries - launched)
    notes = [f"not launched by the case: {', '.join(missing)}"] if missing else []
    return notes + _idle_masks(request, port_text, port, masks)


def _idle_masks(request: Request, port_text: str, port: Case, masks: Mapping[Any, Any]) -> list[str]:
    """The masks that no input of the case makes use of: whether they are right, nothing has shown."""
    text = port_text.splitlines()
    own = {place.line for place, use in masks.items() if not use.off and _holds_port(place.path, port, request)}
    found = [
        f"no input turns off a lane of the mask in line {n} of the port: {text[n - 1].strip()}" for n in sorted(own)
    ]
    if found and request.port is None:
        made = "convert" if request.stage == "literal" else f"upgrade --stage {request.stage}"
        found.append(f"lines of the port are those of: tritonport {made} {request.kernel_file}")
    return found


def _holds_port(file: str, port: Case, request: Request) -> bool:
    """Whether a file holds the text of the port."""
    shown = port.files.get(file)
    return shown is not None and (shown.endswith(PORT_MARK) or shown == request.port)
