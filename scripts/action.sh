#!/usr/bin/env bash
# What the GitHub Action runs: check, then parity-check on the tiers of TIERS, over PATHS. Findings become annotations, the
# summary of the job is a table, and the exit code is the worst of the two: 2, then 1, then 3, then 0.
set -uo pipefail
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
read -r -a paths <<< "${PATHS:-.}"

# Annotations and the summary come from one run each: a check takes a second, a parity check minutes.
python -m tritonport check "${paths[@]}" --output-format github
check=$?
python -m tritonport check "${paths[@]}" --output-format markdown >> "$summary" 2> /dev/null

parity=0
if [ -n "${TIERS:-}" ]; then
    report=$(mktemp)
    python -m tritonport parity-check "${paths[@]}" --tiers "$TIERS" -j 0 --output-format github --summary "$report"
    parity=$?
    cat "$report" >> "$summary"
fi

for code in 2 1 3; do
    if [ "$check" -eq "$code" ] || [ "$parity" -eq "$code" ]; then
        exit "$code"
    fi
done
exit 0
