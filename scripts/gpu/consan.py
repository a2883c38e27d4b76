"""Run ports under Triton's concurrency sanitizer: `python scripts/gpu/consan.py [--stage STAGE] FIXTURE...` on a GPU.

ConSan instruments reads and writes of shared memory and reports races as device-side asserts. One process per
fixture, with a timeout, since a program that it stops can hang. Last it runs a port with a fault in it, which it has to
find: a clean run says nothing of a sanitizer that sees nothing.

Exit codes: 0 the ports are clean and the fault is found; 1 not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
TIMEOUT = 240.0
PLANTED = {
    # The tile is read before the copy engine has filled it.
    "literal": ("descriptor_copy", "    mbarrier.wait(ready, 0)\n", ""),
    # The tile is read while one copy more is under way than the ring has room for.
    "async-copy": ("matmul", "async_copy.wait_group(NUM_BUFFERS - 1)", "async_copy.wait_group(NUM_BUFFERS)"),
}
"""Per stage, a fixture and what is put in place of a text of its port."""


def run(name: str, stage: str, planted: bool) -> None:
    """Launch the port of a fixture on the inputs of its case; a race ends the process."""
    import torch
    import triton

    from tritonport.convert import ConvertOptions, convert_text
    from tritonport.upgrade import upgrade_text

    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    folder = ROOT / "fixtures" / name
    version = ".".join(triton.__version__.split(".")[:2])
    options = ConvertOptions(triton=version, stage=stage)
    port = convert_text if stage == "literal" else upgrade_text
    text = port((folder / f"{name}.py").read_text(), path=name, options=options).text
    if planted:
        _, right, wrong = PLANTED[stage]
        assert right in text, f"the port of {name} has no {right.strip()}"
        text = text.replace(right, wrong)
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / f"{name}.py").write_text(text)
        sys.path[:0] = [made, str(folder)]
        case = __import__(f"{name}_case")
        for seed in range(3):
            case.launch(**case.make_inputs("cuda", seed))
            torch.cuda.synchronize()
    print("clean")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="FIXTURE")
    parser.add_argument("--stage", choices=sorted(PLANTED), default="literal")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--planted", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run(given.names[0], given.stage, given.planted)
        return 0
    environment = os.environ | {"TRITON_INSTRUMENTATION_MODE": "consan", "CUDA_LAUNCH_BLOCKING": "1"}
    code = 0
    for name, planted in [*((name, False) for name in given.names), (PLANTED[given.stage][0], True)]:
        command = [sys.executable, __file__, "--one", "--stage", given.stage, name, *(["--planted"] if planted else [])]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT, check=False, env=environment
            )
            lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
            said = lines[-1] if lines else f"ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            said = f"not done after {TIMEOUT:.0f} s"
        code |= (said == "clean") == planted
        print(f"{name + (' with a fault' if planted else ''):34} {said[:170]}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
