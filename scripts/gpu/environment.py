"""Writes what the measurement ran on: GPU, driver, versions, and the rate of a copy on the device. Ends with 3 without
a GPU, where one is wanted."""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any


def copy_rate(clock: Any) -> float:
    """GB/s of a device-to-device copy of 1 GiB of random numbers, bytes read and written."""
    import torch

    source = torch.randn(2**28, device="cuda")
    target = torch.empty_like(source)
    spent = clock.time([(lambda: None, lambda: target.copy_(source))] * 30)
    moved = 2 * int(source.nbytes)
    return moved / float(statistics.median(spent[5:])) / 1e6


def driver() -> str:
    """The version of the driver, as nvidia-smi says it; empty where that does not run."""
    if shutil.which("nvidia-smi") is None:
        return ""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def main() -> int:
    """Returns the exit code."""
    import torch
    import triton
    from timing import CudaClock

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    known: dict[str, Any] = {"torch": torch.__version__, "triton": triton.__version__}
    found = torch.cuda.is_available()
    if options.device == "cuda" and found:
        properties = torch.cuda.get_device_properties(0)
        known.update(
            gpu=properties.name,
            multiprocessors=properties.multi_processor_count,
            l2_bytes=getattr(properties, "L2_cache_size", None),
            driver=driver(),
            cuda=torch.version.cuda,
            copy_gb_s=copy_rate(CudaClock()),
        )
    options.out.write_text(json.dumps(known), encoding="utf-8")
    return 0 if found or options.device == "cpu" else 3


if __name__ == "__main__":
    sys.exit(main())
