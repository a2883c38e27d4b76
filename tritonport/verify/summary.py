"""What the runs of a tier came to, in a line."""

from collections.abc import Sequence

from tritonport.verify.judge import RunResult
from tritonport.verify.verdict import Verdict


def summarize(verdict: Verdict, results: Sequence[RunResult]) -> str:
    """A line for the report.

    Args:
        verdict: the worst of the results.
    """
    runs = f"{len(results)} run" if len(results) == 1 else f"{len(results)} runs"
    compared = sum(result.compared for result in results)
    if verdict is Verdict.PASS:
        return f"{compared} results of {runs} equal bit for bit"
    if verdict is Verdict.PASS_TOLERANCE:
        return f"{compared} results of {runs} within tolerance"
    bad = [result for result in results if result.verdict is verdict]
    if verdict is Verdict.FAIL:
        return f"{len(bad)} of {runs}"
    why = next((f"{result.variation}: {result.problems[0][1]}" for result in bad if result.problems), "")
    others = [result for result in results if result.verdict is not verdict]
    if not others:
        return why.partition(": ")[2]
    # Verdicts come worst first: what could be compared holds.
    equal = sum(result.verdict is Verdict.PASS for result in others)
    within = f", {len(others) - equal} within tolerance" if equal < len(others) else ""
    return f"{equal} of {runs} equal bit for bit{within}, {len(bad)} not compared; {why}"
