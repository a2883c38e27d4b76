"""Diagnostics, the report of a run, and the formats in which both are written."""

from tritonport.report.comments import EVERYTHING, ignored_codes, is_ignored, note_code, render_note, strip_notes
from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.report.exit_codes import DONE, FINDINGS, NOT_RUN, UNUSABLE, worst_exit_code
from tritonport.report.formats import DOCUMENTS, FORMATS, render
from tritonport.report.report import FileReport, KernelStatus, Report
from tritonport.report.selection import Selection, make_selection

__all__ = [
    "DOCUMENTS",
    "DONE",
    "EVERYTHING",
    "FINDINGS",
    "FORMATS",
    "NOT_RUN",
    "UNUSABLE",
    "Diagnostic",
    "FileReport",
    "InputError",
    "KernelStatus",
    "Report",
    "Selection",
    "ignored_codes",
    "is_ignored",
    "make_selection",
    "note_code",
    "render",
    "render_note",
    "strip_notes",
    "worst_exit_code",
]
