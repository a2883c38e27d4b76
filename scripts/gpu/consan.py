"""Run ports under Triton's concurrency sanitizer: `python scripts/gpu/consan.py [--stage STAGE] FIXTURE...` on a GPU.

ConSan instruments reads and writes of shared memory and reports races as device-side asserts. This is T4 of
`parity-check` with that sanitizer alone, and last a port with a fault in it, which it has to find: a clean run says
nothing of a sanitizer that sees nothing.

Exit codes: 0 the ports are clean, or have nothing to watch, and the fault is found; 1 not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tritonport.verify.request import Request, make_port  # noqa: E402
from tritonport.verify.sanitize import run_sanitizers  # noqa: E402
from tritonport.verify.sanitize.tools import CONSAN  # noqa: E402
from tritonport.verify.verdict import TierResult, Verdict  # noqa: E402

TIMEOUT = 240.0
TARGET = "sm_90"
PLANTED = {
    # The tile is read before the copy engine has filled it.
    "literal": ("descriptor_copy", "    mbarrier.wait(ready, 0)\n", ""),
    # The tile is read while one copy more is under way than the ring has room for.
    "async-copy": ("matmul", "async_copy.wait_group(NUM_BUFFERS - 1)", "async_copy.wait_group(NUM_BUFFERS)"),
    # One of the two tiles of a step is read before its copy has come.
    "tma": ("matmul", "        mbarrier.wait(b_ready, phase)\n", ""),
}
"""Per stage, a fixture and what is put in place of a text of its port."""


def request_of(name: str, stage: str, triton: str, port: str | None = None) -> Request:
    """T4 of a fixture on a stage, or of a port in a file."""
    folder = ROOT / "fixtures" / name
    case = str(folder / f"{name}_case.py")
    return Request("T4", str(folder / f"{name}.py"), case, port, triton, (TARGET,), timeout=TIMEOUT, stage=stage)


def run_planted(stage: str, triton: str) -> TierResult:
    """T4 of the port with the fault of a stage in it."""
    name, right, wrong = PLANTED[stage]
    text = make_port(request_of(name, stage, triton), TARGET).text
    assert right in text, f"the port of {name} has no {right.strip()}"
    with tempfile.TemporaryDirectory() as made:
        port = Path(made) / f"{name}.py"
        port.write_text(text.replace(right, wrong), encoding="utf-8")
        return run_sanitizers(request_of(name, stage, triton, str(port)), sanitizers=(CONSAN,))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="FIXTURE")
    parser.add_argument("--stage", choices=sorted(PLANTED), default="literal")
    given = parser.parse_args()
    import triton

    version = ".".join(triton.__version__.split(".")[:2])
    code = 0
    for name in given.names:
        result = run_sanitizers(request_of(name, given.stage, version), sanitizers=(CONSAN,))
        code |= _shown(name, result) not in (Verdict.PASS, Verdict.NOT_RUN)
    planted = run_planted(given.stage, version)
    return int(code | (_shown(f"{PLANTED[given.stage][0]} with a fault", planted) is not Verdict.FAIL))


def _shown(title: str, result: TierResult) -> Verdict:
    said = result.findings[0].message if result.findings else result.summary
    print(f"{title:34} {result.verdict.value:15} {said[:170]}", flush=True)
    return result.verdict


if __name__ == "__main__":
    sys.exit(main())
