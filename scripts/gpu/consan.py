"""Run ports under Triton's concurrency sanitizer: `python scripts/gpu/consan.py FIXTURE...` on a GPU.

ConSan instruments reads and writes of shared memory and reports races as device-side asserts. One process per
fixture, with a timeout, since a program that it stops can hang. Last it runs a port with a fault in it, which it has to
find: a clean run says nothing of a sanitizer that sees nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
TIMEOUT = 240.0
PLANTED = "descriptor_copy"
WAIT = "    mbarrier.wait(ready, 0)\n"
"""Without it the tile is read before the copy engine has filled it."""


def run(name: str, planted: bool = False) -> None:
    """Launch the port of a fixture on the inputs of its case; a race ends the process."""
    import torch
    import triton

    from tritonport.convert import ConvertOptions, convert_text

    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    folder = ROOT / "fixtures" / name
    version = ".".join(triton.__version__.split(".")[:2])
    text = convert_text((folder / f"{name}.py").read_text(), path=name, options=ConvertOptions(triton=version)).text
    if planted:
        assert WAIT in text, f"the port of {name} has no wait to take away"
        text = text.replace(WAIT, "")
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / f"{name}.py").write_text(text)
        sys.path[:0] = [made, str(folder)]
        case = __import__(f"{name}_case")
        for seed in range(3):
            case.launch(**case.make_inputs("cuda", seed))
            torch.cuda.synchronize()
    print("clean")


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] in ("--one", "--planted"):
        run(sys.argv[2], sys.argv[1] == "--planted")
        return 0
    environment = os.environ | {"TRITON_INSTRUMENTATION_MODE": "consan", "CUDA_LAUNCH_BLOCKING": "1"}
    code = 0
    for name, planted in [*((name, False) for name in sys.argv[1:]), (PLANTED, True)]:
        command = [sys.executable, __file__, "--planted" if planted else "--one", name]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT, check=False, env=environment
            )
            lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
            said = lines[-1] if lines else f"ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            said = f"not done after {TIMEOUT:.0f} s"
        code |= (said == "clean") == planted
        print(f"{name + (' without a wait' if planted else ''):34} {said[:170]}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
