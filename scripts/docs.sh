#!/usr/bin/env bash
# Writes the pages of docs/ that are made from rules/: the table of API names and the index of diagnostics.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
"$PYTHON" - <<'END'
from pathlib import Path

from tritonport.report.api_page import table_markdown
from tritonport.report.rule_page import index_markdown

for name, table in (("api", table_markdown()), ("diagnostics", index_markdown())):
    page = Path("docs") / f"{name}.md"
    head, _, _ = page.read_text().partition("\n| ")
    page.write_text(f"{head}\n{table}")
END
