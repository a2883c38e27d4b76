"""Diagnostics, the report of a run, and the formats in which both are written."""

from tritonport.report.comments import ignored_codes, note_code, render_note, strip_notes
from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.report.exit_codes import worst_exit_code

__all__ = [
    "Diagnostic",
    "InputError",
    "ignored_codes",
    "note_code",
    "render_note",
    "strip_notes",
    "worst_exit_code",
]
