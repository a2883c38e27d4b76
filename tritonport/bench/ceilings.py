"""What the device can do, measured in the same run: a copy of memory, the vendor's product of two large matrices."""

import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import torch

from tritonport.bench.clock import Clock, Step
from tritonport.bench.result import Ceilings

_SECONDS = 1.0
"""Of one kind of work. A card that is cool runs faster than one at its power limit, which it reaches after about 0.4 s:
the rate is that of the second half."""
_COPIED = 2**30
_EXTENT = 8192
_SLOW = {"float32": 4096, "float64": 4096}
"""The extent of the matrices, for types that tensor cores do not compute in or slowly."""


def ceilings(clock: Clock, dtypes: Iterable[str | None]) -> Ceilings:
    """The rates of a copy and, for each type, of a product. None among the types is passed over."""
    names = sorted({name for name in dtypes if name is not None})
    return Ceilings(copy_rate(clock), {name: matmul_rate(clock, name) for name in names})


def sustained_ms(step: Step, clock: Clock, seconds: float = _SECONDS) -> float:
    """Milliseconds of a step that is repeated for some time: the median of the second half of its samples."""

    def nothing() -> None:
        pass

    first = statistics.median(clock.time([(nothing, step)] * 5))
    count = min(1000, max(10, int(1e3 * seconds / max(first, 1e-3))))
    spent = clock.time([(nothing, step)] * count)
    return statistics.median(spent[count // 2 :])


def copy_rate(clock: Clock, device: str = "cuda", size: int = _COPIED) -> float:
    """GB/s of a copy of random numbers on a device, bytes read and written.

    Args:
        size: bytes that are copied; by default 1 GiB.
    """
    source = torch.randn(size // 4, device=device)
    target = torch.empty_like(source)
    return 2 * size / sustained_ms(lambda: target.copy_(source), clock) / 1e6


def matmul_rate(clock: Clock, dtype: str, device: str = "cuda", extent: int | None = None) -> float | None:
    """TFLOP/s of the vendor's product of two square matrices of random numbers; None where it has none for the type.

    Args:
        dtype: by torch's name, or `tf32`.
        extent: rows and columns; None: 8192, or less for types that are slow.
    """
    extent = extent or _SLOW.get(dtype, _EXTENT)
    tf32 = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    try:
        product = _product(dtype, device, extent)
        product()
        ms = sustained_ms(product, clock)
    except (AttributeError, RuntimeError, TypeError, ValueError, NotImplementedError):
        return None
    finally:
        torch.backends.cuda.matmul.allow_tf32 = tf32
    return 2 * float(extent) ** 3 / ms / 1e9


def _product(dtype: str, device: str, extent: int) -> Callable[[], Any]:
    """A product of two matrices of a type. Raises AttributeError or ValueError for what is none."""
    kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
    if not isinstance(kind, torch.dtype):
        raise ValueError(f"{dtype} is no type")
    if kind == torch.int8:
        a, b = (torch.randint(-100, 100, (extent, extent), device=device, dtype=kind) for _ in range(2))
        return lambda: torch._int_mm(a, b)
    a, b = (torch.randn(extent, extent, device=device).to(kind) for _ in range(2))
    if kind.itemsize == 1:
        one = torch.ones((), device=device)
        # The second operand of 8-bit products is read by columns.
        return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    out = torch.empty(extent, extent, device=device, dtype=kind)
    return lambda: torch.matmul(a, b, out=out)


def environment() -> dict[str, Any]:
    """What a measurement runs on: GPU, driver and versions."""
    import triton

    properties = torch.cuda.get_device_properties(0)
    return {
        "torch": torch.__version__,
        "triton": triton.__version__,
        "gpu": properties.name,
        "multiprocessors": properties.multi_processor_count,
        "l2_bytes": getattr(properties, "L2_cache_size", None),
        "driver": driver(),
        "cuda": torch.version.cuda,
    }


def driver() -> str:
    """The version of the driver, as nvidia-smi says it; empty where that does not run."""
    if shutil.which("nvidia-smi") is None:
        return ""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""
