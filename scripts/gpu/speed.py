"""Times one fixture's literal port against its original, as `tritonport bench` does. A process of its own, started by
measure.py: it adds sizes off the block, and runs in the emulator without a GPU, which shows that it works."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benches import benches  # noqa: E402

from tritonport.bench.clock import Clock, CudaClock, HostClock  # noqa: E402
from tritonport.bench.interleave import Effort  # noqa: E402
from tritonport.bench.measure import Loaded, measure  # noqa: E402
from tritonport.bench.result import SizeResult, Status  # noqa: E402
from tritonport.bench.sizes import Size, case_module  # noqa: E402
from tritonport.bench.statistics import ORIGINAL  # noqa: E402
from tritonport.bench.versions import LITERAL  # noqa: E402
from tritonport.verify.case import Case, load_case  # noqa: E402

_SIDES = {"original": ORIGINAL, "port": LITERAL}


def sides(fixture: str, triton: str) -> tuple[Case, Loaded]:
    """The case against the original, and against its port. Raises RuntimeError where a kernel does not convert."""
    from tritonport.convert import ConvertOptions, convert_text

    folder = ROOT / "fixtures" / fixture
    file, case = folder / f"{fixture}.py", folder / f"{fixture}_case.py"
    conversion = convert_text(file.read_text(encoding="utf-8"), path=str(file), options=ConvertOptions(triton=triton))
    left = [kernel.name for kernel in conversion.kernels if kernel.status != "converted"]
    if left:
        raise RuntimeError(f"not converted: {', '.join(left)}")
    return load_case(case, file), Loaded(LITERAL, load_case(case, file, conversion.text))


def row_of(found: SizeResult) -> dict[str, Any]:
    """A row of the results: what was timed, or the error that stood in the way."""
    row: dict[str, Any] = {"label": found.label, "bytes": found.work.bytes}
    if found.problem:
        return {**row, "error": found.problem}
    lanes = {lane.stage: lane for lane in found.lanes}
    original, port = lanes[ORIGINAL], lanes[LITERAL]
    row.update(kernels=list(original.kernels), differences=list(port.notes))
    if port.status is not Status.TIMED or found.timings is None:
        return {**row, "error": port.reason}
    if sorted(original.kernels) != sorted(port.kernels):
        return {**row, "error": f"the port launches {', '.join(port.kernels)}"}
    row["resources"] = {name: [dict(one) for one in lanes[lane].resources] for name, lane in _SIDES.items()}
    ratio = found.timings.ratio(LITERAL)
    row.update(ratio=ratio.value, ratios=list(ratio.rounds), controls=list(ratio.controls))
    row.update(spread=ratio.spread, resolved=ratio.resolved)
    for name, lane in _SIDES.items():
        ms = found.timings.lanes[lane].median
        row.update({f"{name}_ms": ms, f"{name}_gb_s": found.work.bytes / ms / 1e6})
    return row


def rows(fixture: str, device: str, quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Measures one fixture, row by row."""
    import triton

    version = ".".join(triton.__version__.split(".")[:2])
    with contextlib.ExitStack() as stack:
        if device == "cpu":
            from tritonport.verify.emulate import emulated

            stack.enter_context(emulated())
        clock: Clock = CudaClock() if device == "cuda" else HostClock()
        original, port = sides(fixture, version)
        for bench in benches(fixture, case_module(original), device, quick):
            size = Size(bench.label, bench.build, kernels=bench.kernels)
            try:
                found = row_of(measure(size, original, [port], clock, effort))
            except Exception as error:
                import traceback

                traceback.print_exc()
                found = {"label": bench.label, "error": f"{type(error).__name__}: {error}".splitlines()[0]}
            yield {"fixture": fixture, "bar": bench.bar, **found}


def main() -> None:
    """Writes the rows to `--out` as JSON lines, each as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fixture")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=36)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    # Nothing is cut short here: measure.py has limits of its own.
    warmup = 3 if options.device == "cuda" else 1
    effort = Effort(options.rounds, options.iterations, warmup, seconds=60.0)
    with options.out.open("w", encoding="utf-8") as stream:
        for row in rows(options.fixture, options.device, options.quick, effort):
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            print({name: row.get(name) for name in ("fixture", "label", "ratio", "spread", "error")}, flush=True)


if __name__ == "__main__":
    main()
