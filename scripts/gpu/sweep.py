"""The best configuration of each side over one set of block sizes: Triton with its pipeline, and the stage `mma`.

    python scripts/gpu/sweep.py [--out FILE.md]

needs a GPU, torch, Triton, click and libcst; about two minutes. Results are compared with torch's own before
anything is timed; versions run in turns, the L2 cache is flushed, nothing waits for the device in between. The fastest
three of each side are timed again, longer, twice: one launch after another, and with a pause before each. Large
products take the device to its power limit, where its clock falls until every version does about as much a second; the
pauses keep it below. The table says the better medians of those two, not of the pass that chose them.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import triton  # noqa: E402

from tritonport.convert import ConvertOptions  # noqa: E402
from tritonport.upgrade import upgrade_text  # noqa: E402

MATMUL_BLOCKS = ((128, 256, 64, 8), (256, 128, 64, 8), (128, 128, 64, 4), (128, 128, 64, 8), (64, 256, 64, 4))
ATTENTION_BLOCKS = ((128, 64, 8), (128, 128, 8), (64, 64, 4), (64, 128, 4), (128, 64, 4))
STAGES = (2, 3, 4)
SIDES = ("Triton", "mma")
FINALISTS, FINAL_ROUNDS = 3, 5  # of each side; times the rounds of the first pass
PAUSE = 0.02  # seconds
COLUMNS = ("Triton TFLOP/s", "mma TFLOP/s", "mma / Triton", "library TFLOP/s")
LEAST_ERROR = 1e-2  # relative, of bfloat16 products: a wrong tile is off by far more
Launch = Callable[[], torch.Tensor]


def sides(name: str, folder: Path) -> dict[str, Any]:
    """The original of a fixture and its port at the stage `mma`, as modules."""
    path = ROOT / "fixtures" / name / f"{name}.py"
    version = ".".join(triton.__version__.split(".")[:2])
    options = ConvertOptions(triton=version, target="sm_90", stage="mma")
    port = folder / f"{name}_mma.py"
    port.write_text(upgrade_text(path.read_text(encoding="utf-8"), path=str(path), options=options).text)
    return {"Triton": loaded(path), "mma": loaded(port)}


def loaded(path: Path) -> Any:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def fitting(launches: Iterator[tuple[str, Launch]], expected: torch.Tensor) -> dict[str, Launch]:
    """The versions that run and are right; a configuration that does not fit the device is left out."""
    found = {}
    for label, launch in launches:
        try:
            result = launch()
            torch.cuda.synchronize()
        except triton.runtime.errors.OutOfResources:
            continue
        error = ((result.float() - expected.float()).norm() / expected.float().norm()).item()
        if not error < LEAST_ERROR:
            raise SystemExit(f"{label}: relative error {error}")
        found[label] = launch
    return found


def medians(launches: Mapping[str, Launch], rounds: int, pause: float = 0.0) -> dict[str, float]:
    """Milliseconds of each, in turns; `pause`: seconds that the device rests before each launch."""
    times: dict[str, list[float]] = {label: [] for label in launches}
    cache = torch.empty(2**27, device="cuda")
    for _ in range(rounds):
        events = []
        for label, launch in launches.items():
            if pause:
                torch.cuda.synchronize()
                time.sleep(pause)
            # The host is ahead of the device when the launch begins; after a pause its own caches are cold.
            for _ in range(16 if pause else 2):
                cache.zero_()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            launch()
            end.record()
            events.append((label, start, end))
        torch.cuda.synchronize()
        for label, start, end in events:
            times[label].append(start.elapsed_time(end))
    return {label: statistics.median(values) for label, values in times.items()}


def matmul(modules: Mapping[str, Any], n: int, dtype: torch.dtype) -> Iterator[tuple[str, Launch]]:
    generator = torch.Generator(device="cuda").manual_seed(0)
    a, b = (torch.randn(n, n, generator=generator, device="cuda").to(dtype) for _ in range(2))
    yield "expected", lambda: a @ b
    for block in MATMUL_BLOCKS:
        for stages in STAGES:
            for side, module in modules.items():

                def launch(module: Any = module, block: Any = block, stages: int = stages) -> torch.Tensor:
                    return module.matmul(a, b, None, False, *block[:3], num_warps=block[3], num_stages=stages)

                yield f"{side} {block[:3]}, {block[3]} warps, {stages} stages", launch


def attention(modules: Mapping[str, Any]) -> Iterator[tuple[str, Launch]]:
    generator = torch.Generator(device="cuda").manual_seed(0)
    shape = (128, 4096, 128)
    q, k, v = (torch.randn(*shape, generator=generator, device="cuda").to(torch.bfloat16) for _ in range(3))
    yield "expected", lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    for block in ATTENTION_BLOCKS:
        for stages in STAGES:
            for side, module in modules.items():

                def launch(module: Any = module, block: Any = block, stages: int = stages) -> torch.Tensor:
                    return module.attention(q, k, v, False, *block[:2], num_warps=block[2], num_stages=stages)[0]

                yield f"{side} {block[:2]}, {block[2]} warps, {stages} stages", launch


def side_of(label: str) -> str:
    """Triton, mma or library."""
    return label.split(" (")[0]


def finalists(times: Mapping[str, float]) -> list[str]:
    """The library, and of each side the fastest few, of which chance picks one otherwise."""
    ranked = sorted(times, key=times.__getitem__)
    return ["library", *(label for side in SIDES for label in [x for x in ranked if side_of(x) == side][:FINALISTS])]


def row(title: str, launches: Iterator[tuple[str, Launch]], flops: float, rounds: int) -> str:
    """One line of the table: the best of each side, timed once more in turns with those near it."""
    _, library = next(launches)
    found = {"library": library, **fitting(launches, library())}
    chosen = finalists(medians(found, rounds))
    cells = [title]
    for pause in (0.0, PAUSE):
        times = medians({label: found[label] for label in chosen}, FINAL_ROUNDS * rounds, pause)
        best = {side: min((t, label) for label, t in times.items() if side_of(label) == side) for side in SIDES}
        for side, (time_of, label) in best.items():
            configuration = "" if pause else f": {label.removeprefix(side).strip()}"
            cells.append(f"{flops / time_of / 1e9:.0f}{configuration}")
        cells.append(f"{best['Triton'][0] / best['mma'][0]:.4f}x")
        cells.append(f"{flops / times['library'] / 1e9:.0f}")
    return "| " + " | ".join(cells) + " |"


@click.command()
@click.option("--out", type=click.Path(path_type=Path), help="Write the table there too.")
def main(out: Path | None) -> None:
    """Time both sides over all configurations."""
    if not torch.cuda.is_available():
        print("NOT-RUN: no GPU")
        raise SystemExit(3)
    heads = ["", *(f"{one}{how}" for how in ("", ", rested") for one in COLUMNS)]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    with tempfile.TemporaryDirectory() as folder:
        products = sides("matmul", Path(folder))
        for n, dtype, rounds in ((4096, torch.bfloat16, 15), (8192, torch.bfloat16, 7), (4096, torch.float16, 15)):
            title = f"matmul {n}^3 {str(dtype).removeprefix('torch.')}"
            lines.append(row(title, matmul(products, n, dtype), 2 * n**3, rounds))
        attend = attention(sides("attention", Path(folder)))
        lines.append(row("attention forward 4 x 32 x 4096 x 128 bfloat16", attend, 4 * 128 * 4096 * 4096 * 128, 9))
    text = (
        f"{torch.cuda.get_device_name()}, Triton {triton.__version__}, torch {torch.__version__}\n\n"
        + "\n".join(lines)
        + "\n"
    )
    print(text)
    if out is not None:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
