"""Writes what the measurement ran on: GPU, driver, versions, and the rate of a copy on the device. Ends with 3 without
a GPU, where one is wanted."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def main() -> int:
    """Returns the exit code."""
    import torch
    import triton

    from tritonport.bench.ceilings import copy_rate, environment
    from tritonport.bench.clock import CudaClock

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    known: dict[str, Any] = {"torch": torch.__version__, "triton": triton.__version__}
    found = torch.cuda.is_available()
    if options.device == "cuda" and found:
        known.update(environment(), copy_gb_s=copy_rate(CudaClock()))
    options.out.write_text(json.dumps(known), encoding="utf-8")
    return 0 if found or options.device == "cpu" else 3


if __name__ == "__main__":
    sys.exit(main())
