"""Times one fixture's port against its original, kernel launches alone. A process of its own, started by measure.py.

Both sides run once through the case's `launch`; what they return is compared. The kernel launches seen on the way are
then timed without the host code around them, and the port's are given the very tensors of the original's: the same
addresses, so that neither side has the luckier memory.
"""

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benches import Bench, Inputs, benches
from timing import Clock, CudaClock, HostClock, interleaved

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Launched:
    """One kernel launch that can be repeated: the jitted function and the arguments of its `run`."""

    function: Any
    args: tuple[Any, ...]
    keywords: dict[str, Any]

    @property
    def kernel(self) -> str:
        """The name of the kernel function."""
        return str(self.function.fn.__name__)

    @property
    def named(self) -> dict[str, Any]:
        """The arguments by the name of their parameter, options such as `num_warps` among them."""
        return {**dict(zip(self.function.arg_names, self.args, strict=False)), **self.keywords}

    def repeat(self) -> Any:
        """Launches it again; returns what Triton returns: the compiled kernel."""
        return self.function.run(*self.args, **self.keywords)

    def with_tensors_of(self, other: "Launched") -> "Launched":
        """This kernel on the other's tensors. Raises ValueError where the two launches differ in anything else."""
        import torch

        theirs = other.named

        def taken(name: str, value: Any) -> Any:
            if name == "grid" and callable(value):
                return value
            if isinstance(value, torch.Tensor):
                return theirs[name]
            if name not in other.function.arg_names and name in self.function.arg_names:
                # A compile-time argument that only the port has, filled by its heuristic.
                return value
            if name not in theirs or theirs[name] != value:
                raise ValueError(f"{self.kernel}: {name} is {value!r}, in the original {theirs.get(name)!r}")
            return value

        names = self.function.arg_names
        args = tuple(taken(name, value) for name, value in zip(names, self.args, strict=False))
        return Launched(self.function, args, {name: taken(name, value) for name, value in self.keywords.items()})


@contextmanager
def recorded() -> Iterator[list[Launched]]:
    """The launches in the block, with their arguments."""
    from triton.runtime.jit import JITFunction

    launches: list[Launched] = []
    run = JITFunction.run

    def recording(self: Any, *args: Any, **keywords: Any) -> Any:
        launches.append(Launched(self, args, keywords))
        return run(self, *args, **keywords)

    JITFunction.run = recording
    try:
        yield launches
    finally:
        JITFunction.run = run


class Side:
    """The original or the port of a fixture, imported under the fixture's own module names."""

    def __init__(self, fixture: str, text: str, scratch: Path) -> None:
        """Args:
        text: of the kernel file.
        scratch: an empty folder; the text is written there, for Triton reads the source of its kernels.
        """
        from tritonport.verify.modules import ModuleSpace, ModuleText

        folder = ROOT / "fixtures" / fixture
        scratch.mkdir()
        file, case = scratch / f"{fixture}.py", folder / f"{fixture}_case.py"
        file.write_text(text, encoding="utf-8")
        sources = [
            ModuleText(fixture, folder / file.name, text, file),
            ModuleText(case.stem, case, case.read_text(encoding="utf-8"), case),
        ]
        self._space = ModuleSpace(sources, [folder])
        self._space.load(fixture)
        self.case: ModuleType = self._space.load(case.stem)

    def launch(self, inputs: Inputs) -> tuple[Any, list[Launched]]:
        """What `launch` returns, allocated on NaN, and the kernel launches that it made."""
        from tritonport.verify.poison import Arena, poisoned_allocations

        with self._space.active(), recorded() as launches, poisoned_allocations(Arena(guard=0)):
            return self.case.launch(**inputs), launches


def sides(fixture: str, triton: str, scratch: Path) -> tuple[Side, Side]:
    """The original and its port."""
    from tritonport.convert import ConvertOptions, convert_text

    file = ROOT / "fixtures" / fixture / f"{fixture}.py"
    text = file.read_text(encoding="utf-8")
    conversion = convert_text(text, path=str(file), options=ConvertOptions(triton=triton))
    left = [kernel.name for kernel in conversion.kernels if kernel.status != "converted"]
    if left:
        raise RuntimeError(f"not converted: {', '.join(left)}")
    return Side(fixture, text, scratch / "original"), Side(fixture, conversion.text, scratch / "port")


def _copied(inputs: Inputs) -> Inputs:
    import torch

    return {name: one.clone() if isinstance(one, torch.Tensor) else one for name, one in inputs.items()}


def _differences(side: Side, inputs: Inputs, original: Inputs, port: Inputs) -> list[dict[str, Any]]:
    """What differs: nothing, or for each result by how much, and whether the port is as near to float64."""
    from tritonport.verify.compare import compare
    from tritonport.verify.tensors import leaves

    unequal = [name for name in original if compare(name, original[name], port[name]) is not None]
    if not unequal:
        return []
    exact = leaves(side.case.reference(**_copied(inputs)), "result")
    found = [compare(name, original[name], port[name], exact.get(name)) for name in unequal]
    return [{"text": one.text, "tolerable": one.tolerable} for one in found if one is not None]


def _bytes(launches: list[Launched], changed: list[Any]) -> int:
    """The least that the launches must move: every tensor once, one that is read and overwritten twice."""
    import torch

    twice = {one.data_ptr() for one in changed}
    total = 0
    for launch in launches:
        tensors = {one.data_ptr(): one for one in launch.named.values() if isinstance(one, torch.Tensor)}
        total += sum(one.nbytes * (2 if pointer in twice else 1) for pointer, one in tensors.items())
    return total


def _resources(launch: Launched) -> dict[str, Any]:
    compiled = launch.repeat()
    metadata = getattr(compiled, "metadata", None)
    return {
        "registers": getattr(compiled, "n_regs", None),
        "spills": getattr(compiled, "n_spills", None),
        "shared": getattr(metadata, "shared", None),
        "num_warps": getattr(metadata, "num_warps", None),
    }


def _run(launches: list[Launched]) -> Callable[[], None]:
    def run() -> None:
        for launch in launches:
            launch.repeat()

    return run


@dataclass(frozen=True)
class Effort:
    """How much is timed."""

    rounds: int
    iterations: int


def measure(bench: Bench, original: Side, port: Side, clock: Clock, effort: Effort) -> dict[str, Any]:
    """One row: checked, then timed. A row whose results are wrong is not timed."""
    import torch

    from tritonport.verify.compare import bitwise_equal
    from tritonport.verify.tensors import leaves

    inputs = bench.build()
    before = _copied(inputs)
    found, ours = original.launch(inputs)
    tensors = [name for name, one in inputs.items() if isinstance(one, torch.Tensor)]
    changed = [name for name in tensors if not bitwise_equal(inputs[name], before[name])]

    def restore() -> None:
        for name in changed:
            inputs[name].copy_(before[name])

    results = leaves(found, "result")
    timed = [number for number, one in enumerate(ours) if not bench.kernels or one.kernel in bench.kernels]
    moved = _bytes([ours[number] for number in timed], [inputs[name] for name in changed])
    row: dict[str, Any] = {"label": bench.label, "bar": bench.bar, "bytes": moved}
    row["kernels"] = [ours[number].kernel for number in timed]
    expected = _copied(results)
    restore()
    found, theirs = port.launch(inputs)
    if [(one.kernel, True) for one in ours] != [(one.kernel, one.function.is_gluon()) for one in theirs]:
        return {**row, "error": "the port does not launch the same kernels, in Gluon"}
    computed = _copied(leaves(found, "result"))
    row["differences"] = _differences(original, before, expected, computed)
    if not all(one["tolerable"] for one in row["differences"]):
        return {**row, "error": row["differences"][0]["text"]}
    same = [own.with_tensors_of(one) for one, own in zip(ours, theirs, strict=True)]
    # What is timed is not the launch that was checked: it works on the original's tensors. It must compute the same.
    for name in _rewritten(results, ours):
        if not any(results[name] is inputs[one] for one in tensors):
            results[name].fill_(float("nan"))
    restore()
    _run(same)()
    wrong = [name for name in _rewritten(results, ours) if not bitwise_equal(results[name], computed[name])]
    if wrong:
        return {**row, "error": f"what is timed computes another {wrong[0]}"}
    lanes = {"original": [ours[number] for number in timed], "port": [same[number] for number in timed]}
    row["resources"] = {name: [_resources(one) for one in launches] for name, launches in lanes.items()}
    steps = {name: _run(launches) for name, launches in lanes.items()}
    steps["control"] = _run(lanes["original"])
    speed = interleaved(steps, restore, clock, rounds=effort.rounds, iterations=effort.iterations).to_json()
    rates = {f"{name}_gb_s": moved / speed[f"{name}_ms"] / 1e6 for name in ("original", "port")}
    return {**row, **speed, **rates}


def _rewritten(results: dict[str, Any], launches: list[Launched]) -> list[str]:
    """The results that the launches themselves write: not what the host makes of them afterwards."""
    import torch

    given = {one.data_ptr() for launch in launches for one in launch.named.values() if isinstance(one, torch.Tensor)}
    return [name for name, one in results.items() if isinstance(one, torch.Tensor) and one.data_ptr() in given]


def rows(fixture: str, device: str, quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Measures one fixture, row by row."""
    import triton

    version = ".".join(triton.__version__.split(".")[:2])
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tritonport-speed-")))
        if device == "cpu":
            from tritonport.verify.emulate import emulated

            stack.enter_context(emulated())
        clock: Clock = CudaClock() if device == "cuda" else HostClock()
        original, port = sides(fixture, version, scratch)
        for bench in benches(fixture, original.case, device, quick):
            try:
                yield {"fixture": fixture, **measure(bench, original, port, clock, effort)}
            except Exception as error:
                import traceback

                traceback.print_exc()
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                yield {"fixture": fixture, "label": bench.label, "bar": bench.bar, "error": text}


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
    with options.out.open("w", encoding="utf-8") as stream:
        for row in rows(options.fixture, options.device, options.quick, Effort(options.rounds, options.iterations)):
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            print({name: row.get(name) for name in ("fixture", "label", "ratio", "spread", "error")}, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
