"""The process that a sanitizer watches: it runs a case's port, or both sides, and writes down how far it came.

`python -m tritonport.verify.sanitize.worker FOLDER`, where FOLDER holds `job.json`; what happens goes into
`records.jsonl` there, line by line, for a process that is stopped leaves those before it.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

JOB, RECORDS = "job.json", "records.jsonl"
_MOST_RUNS = 16
"""Of the original, where the port differs in what no addition by atomics has reached."""


@dataclass(frozen=True)
class Job:
    """What to run.

    Attributes:
        kernel_file, case: the original and its case.
        port: the file that holds the port.
        sides: `original`, `port`, or both; both are compared bit for bit.
        device: `cuda`; `cpu` runs in the emulator.
        target: the architecture that the emulator plays.
        seeds: in place of those of the case.
        seconds: after which no further run is begun: of a seed, a variant, a configuration of an autotuned kernel.
    """

    kernel_file: str
    case: str
    port: str
    sides: tuple[str, ...]
    device: str = "cuda"
    target: str = "sm_90"
    seeds: tuple[int, ...] | None = None
    seconds: float = 60.0

    def write(self, folder: Path) -> None:
        """Writes the job for the process."""
        (folder / JOB).write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_job(folder: Path) -> Job:
    """The job in a folder."""
    data = json.loads((folder / JOB).read_text(encoding="utf-8"))
    seeds = data.pop("seeds")
    return Job(**{**data, "sides": tuple(data["sides"])}, seeds=None if seeds is None else tuple(seeds))


def read_records(folder: Path) -> list[dict[str, Any]]:
    """What the process wrote down, without a last line that it did not finish."""
    file = folder / RECORDS
    lines = file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


class _Worker:
    def __init__(self, folder: Path) -> None:
        self.started = time.monotonic()
        self.job = read_job(folder)
        self._file = folder / RECORDS

    def write(self, event: str, **values: Any) -> None:
        """Appends a record."""
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"event": event, **values}) + "\n")

    def run(self) -> None:
        """Everything; what raises in the case is a record."""
        import triton

        from tritonport.report.diagnostic import InputError
        from tritonport.verify.side import SideFailed

        self.write("mode", mode=getattr(triton.knobs.compilation, "instrumentation_mode", ""))
        with self._backend() as backend:
            self.side = self.job.sides[0]
            try:
                sides = {name: self._side(name, backend) for name in self.job.sides}
                self._run_sides(sides, backend)
            except InputError as error:
                found = error.diagnostic
                self._raised("import", found.message, found.path, found.line, refused=False)
            except SideFailed as failed:
                self._failed(failed)
            else:
                self.write("done")

    def _backend(self) -> AbstractContextManager[Any]:
        from tritonport.verify.side import emulator, gpu

        return gpu() if self.job.device == "cuda" else emulator(self.job.target, 60.0)

    def _side(self, name: str, backend: Any) -> Any:
        from tritonport.verify.case import load_case, read_source
        from tritonport.verify.side import Side

        self.side = name
        port = Path(self.job.port)
        files = Path(self.job.case), Path(self.job.kernel_file)
        case = load_case(*files) if name == "original" else load_case(*files, read_source(port), port)
        # Guards would hide from the sanitizer what is outside of a tensor.
        return Side(name, case, replace(backend, guard=0))

    def _run_sides(self, sides: dict[str, Any], backend: Any) -> None:
        from tritonport.verify.case import DEFAULT_SEEDS
        from tritonport.verify.side import variations_of

        first = sides[self.job.sides[0]]
        self.side, self.case = first.name, first.case
        variations = variations_of(first, self.job.seeds or first.case.seeds or DEFAULT_SEEDS)
        # How many configurations there are is known once the kernels have been launched.
        self._run(sides, variations[0])
        more = [replace(variations[0], config=config) for config in range(1, backend.choice.most)]
        rest = [*variations[1:], *more]
        for done, variation in enumerate(rest):
            if time.monotonic() - self.started > self.job.seconds:
                self.write("left-out", runs=len(rest) - done)
                break
            self._run(sides, variation)

    def _run(self, sides: dict[str, Any], variation: Any) -> None:
        from tritonport.verify.side import SideFailed

        runs: dict[str, Any] = {}
        storages: dict[str, dict[int, int]] = {}
        for name, side in sides.items():
            self.side, self.case = name, side.case
            self.write("start", side=name, variation=str(variation))
            try:
                runs[name] = run = side.run(variation, copy=partial(_kept, storages.setdefault(name, {})))
            except SideFailed as failed:
                if not _is_refusal(failed):
                    raise
                # Says nothing of the other runs, which may ask for less memory.
                self._failed(failed)
                return
            launches = [
                {"kernel": one.kernel, "gluon": one.gluon, "watched": _has_asserts(one)} for one in run.launches
            ]
            self.write("run", side=name, variation=str(variation), launches=launches)
        if len(runs) == 2:
            compared, differences = _compare(runs["original"], runs["port"])
            reached = _reached(runs["original"], storages["original"]) & differences.keys()
            left = differences.keys() - reached
            count, moving = 1, set[str]()
            if left:
                count, moving = self._moving(sides["original"], variation, runs["original"], left)
            self.write(
                "compared",
                variation=str(variation),
                compared=compared,
                differences=differences,
                runs=count,
                moving=sorted(moving & left),
                unordered=sorted(reached),
            )

    def _moving(self, side: Any, variation: Any, first: Any, different: set[str]) -> tuple[int, set[str]]:
        """How many runs of the original there were, and the results in which they differ: the order of atomics is not
        fixed.

        Run again on the same inputs until each result moves in which the port differs, while there is time.
        """
        self.side, self.case = side.name, side.case
        count, moving = 1, set[str]()
        while count < _MOST_RUNS and not different <= moving:
            if time.monotonic() - self.started > self.job.seconds:
                break
            moving |= set(_compare(first, side.run(variation))[1])
            count += 1
        return count, moving

    def _failed(self, failed: Any) -> None:
        from tritonport.verify.places import first_line, place_of

        place = place_of(failed.error, self.case.files)
        kernel = failed.launches[-1].kernel if failed.launches else ""
        self._raised(
            failed.step,
            first_line(failed.error),
            place.path if place else self.job.case,
            place.line if place else 1,
            refused=_is_refusal(failed),
            kernel=kernel,
        )

    def _raised(self, step: str, message: str, path: str, line: int, refused: bool, kernel: str = "") -> None:
        event = "refused" if refused else "raised"
        self.write(event, side=self.side, step=step, message=message, path=path, line=line, kernel=kernel)


def _kept(storages: dict[int, int], leaf: Any) -> Any:
    """A copy of a result; where the memory of the result begins is noted by the identity of the copy."""
    import torch

    if not isinstance(leaf, torch.Tensor):
        return leaf
    copy = leaf.detach().clone()
    storages[id(copy)] = int(leaf.untyped_storage().data_ptr())
    return copy


def _reached(run: Any, storages: dict[int, int]) -> set[str]:
    """The results of a run that additions by atomics have reached, by the names of a comparison."""
    from tritonport.verify.sanitize.order import unordered

    named = {**run.results, **run.mutated}
    return unordered(run.launches, {name: storages[id(leaf)] for name, leaf in named.items() if id(leaf) in storages})


def _is_refusal(failed: Any) -> bool:
    """Whether Triton did not compile or start a kernel: instrumented, it takes more memory and registers."""
    own = type(failed.error).__mro__
    return failed.step == "launch" and any(
        kind.__module__.partition(".")[0] == "triton" or kind.__name__ == "NotEmulated" for kind in own
    )


def _has_asserts(launch: Any) -> bool:
    """Whether there are asserts in the code of a launch: a sanitizer that found nothing to watch adds none."""
    code = [one.asm["ptx"] for one in launch.compiled if "ptx" in getattr(one, "asm", {})]
    return any("__assertfail" in ptx for ptx in code) or not code


def _compare(original: Any, port: Any) -> tuple[int, dict[str, str]]:
    """How many results were compared, and by name what to say of those whose bits differ."""
    import torch

    from tritonport.verify.compare import same_bits

    names = list(dict.fromkeys([*original.results, *original.mutated, *port.results, *port.mutated]))
    differences = {}
    for name in names:
        pair = [run.results.get(name, run.mutated.get(name, run.inputs.get(name))) for run in (original, port)]
        if not all(isinstance(one, torch.Tensor) for one in pair):
            if pair[0] is None or pair[1] is None or pair[0] != pair[1]:
                differences[name] = f"{name} is {pair[1]} with the port, {pair[0]} with the original"
        elif pair[0].shape != pair[1].shape or pair[0].dtype != pair[1].dtype:
            differences[name] = f"{name} has another shape or type with the port"
        elif not bool((same := same_bits(*pair)).all()):
            index = tuple(int(i) for i in (~same).nonzero()[0])
            where = f" at [{', '.join(map(str, index))}]" if index else ""
            differences[name] = f"{name} differs{where}, in {int((~same).sum())} of {same.numel()} elements"
    return len(names), differences


def _set_allocator() -> None:
    """Gives kernels the memory that instrumentation asks for, in every thread: a backward pass has its own."""
    import torch
    import triton
    from triton.runtime import _allocation

    def allocate(size: int, alignment: int, stream: int | None) -> Any:
        return torch.empty(size, dtype=torch.int8, device="cuda")

    triton.set_allocator(allocate)
    # A new thread has what a process starts with, which only raises.
    _allocation.NullAllocator.__call__ = lambda self, size, alignment, stream: allocate(size, alignment, stream)


def main() -> None:
    """The process."""
    worker = _Worker(Path(sys.argv[1]))
    if worker.job.device == "cuda":
        _set_allocator()
    worker.run()


if __name__ == "__main__":
    main()
