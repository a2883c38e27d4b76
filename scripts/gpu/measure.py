"""Measures the literal port on a GPU in one run: agreement of the fixtures, speed, and Liger-Kernel's own functions.

Everything runs in processes of its own with a time limit each, inside one limit for the whole run; what is there when
a limit passes is reported. Writes results.json, h200-literal.md and log.txt to --out.

Exit codes: 0 everything holds; 1 something does not; 3 no GPU.
"""

import argparse
import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from results import Results

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

LIGER_OPS = (
    "swiglu",
    "geglu",
    "rms_norm",
    "layer_norm",
    "softmax",
    "cross_entropy",
    "rope",
    "kl_div",
    "jsd",
    "tvd",
    "dyt",
    "group_norm",
    "softmax_blocks",
)
"""The files of `liger_kernel/ops`; softmax_blocks is a second case of softmax.py."""

EXPECTED = {"softmax_blocks": "NOT-COMPARABLE"}
"""What cannot be compared, because the original compiles in no Triton."""

UNUSED_IMPORTS = ("transformers", "peft")
"""What Liger-Kernel imports where it is installed. No kernel needs it, and importing it takes longer than a check."""

CONTRACTION = {"off": "0", "on": "1"}
"""Whether the compiler may contract a multiplication and an addition: the values of TRITON_DEFAULT_FP_FUSION."""

QUICK_FIXTURES, QUICK_OPS = ("vector_add", "rms_norm"), ("geglu",)


class Run:
    """One run: the limits, the log and the results."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.deadline = time.monotonic() + options.budget
        self.results = Results(options.out)
        self._log = (options.out / "log.txt").open("w", encoding="utf-8")
        self._lock = threading.Lock()
        self.started = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds until the run must end."""
        return float(self.deadline - time.monotonic())

    def say(self, text: str) -> None:
        """Writes a line to the terminal and to the log."""
        with self._lock:
            line = f"[{time.monotonic() - self.started:5.0f} s] {text}"
            print(line, flush=True)
            self._log.write(line + "\n")
            self._log.flush()

    def log(self, title: str, text: str) -> None:
        """Writes what a process printed to the log."""
        with self._lock:
            self._log.write(f"--- {title}\n{text.rstrip()}\n")
            self._log.flush()

    def child(self, title: str, command: list[str], limit: float) -> int | None:
        """Runs a command in a process group of its own; None where it had to be stopped."""
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=max(1.0, min(limit, self.left)))
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            self.log(title, output)
            return None
        self.log(title, output)
        return process.returncode

    # -- the steps

    def environment(self) -> bool:
        """Finds out what this machine is; False where there is no GPU and one is wanted."""
        out = self.options.out / "environment.json"
        command = [sys.executable, str(HERE / "environment.py"), "--device", self.options.device, "--out", str(out)]
        code = self.child("environment", command, 120)
        if out.is_file():
            self.results.environment.update(json.loads(out.read_text(encoding="utf-8")))
            out.unlink()
        known = self.results.environment
        known.update(device=self.options.device, rounds=self.options.rounds, iterations=self.options.iterations)
        known["python"] = platform.python_version()
        known["date"] = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        self.say(f"{known.get('gpu', 'no GPU')}, Triton {known.get('triton')}, torch {known.get('torch')}")
        return code == 0

    def speed(self) -> None:
        """Times the fixtures that have something to time, one after another, with nothing beside them."""
        from benches import FIXTURES
        from summary import speed_line

        end = time.monotonic() + self.options.speed_budget
        for fixture in QUICK_FIXTURES if self.options.quick else FIXTURES:
            out = self.options.out / f"speed-{fixture}.jsonl"
            command = [sys.executable, str(HERE / "speed.py"), fixture, "--device", self.options.device]
            command += ["--rounds", str(self.options.rounds), "--iterations", str(self.options.iterations)]
            command += ["--out", str(out), *(["--quick"] if self.options.quick else [])]
            limit = min(100.0, end - time.monotonic())
            code = self.child(f"speed {fixture}", command, limit) if limit > 5 else None
            rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.is_file() else []
            out.unlink(missing_ok=True)
            for row in rows:
                self.say(speed_line(row))
            self.results.speed += rows
            if code != 0:
                # A row of its own, so that no mean is taken without it.
                how = "was stopped" if code is None else f"ended with {code}"
                error = f"the process {how} after {len(rows)} rows; see log.txt"
                self.results.speed.append({"fixture": fixture, "label": "all others", "bar": True, "error": error})
            self.results.write()

    def parity(self, contraction: str, jobs: list[tuple[str, str, str | None, list[dict[str, Any]]]]) -> None:
        """Checks kernel files against their ports, several at once.

        Args:
            contraction: a key of `CONTRACTION`.
            jobs: name, kernel file, case (None: the one beside it), and the list that the row goes to.
        """
        from summary import one_line

        os.environ["TRITON_DEFAULT_FP_FUSION"] = CONTRACTION[contraction]
        pool = concurrent.futures.ThreadPoolExecutor(self.options.jobs)
        futures = {pool.submit(self._check, *job[:3]): job for job in jobs}
        try:
            for future in concurrent.futures.as_completed(futures, timeout=max(0.0, self.left)):
                name, _, _, rows = futures.pop(future)
                try:
                    row = future.result()
                except Exception as error:
                    row = {"verdict": "ERROR", "summary": f"{type(error).__name__}: {error}", "notes": [], "seconds": 0}
                rows.append({"name": name, "contraction": contraction, **row})
                if name in EXPECTED:
                    rows[-1]["expected"] = EXPECTED[name]
                self.say(one_line(rows[-1]))
                self.results.write()
        except concurrent.futures.TimeoutError:
            pass
        pool.shutdown(wait=False, cancel_futures=True)
        self.results.missing += [f"{job[0]}, contraction {contraction}: out of time" for job in futures.values()]

    def _check(self, name: str, file: str, case: str | None) -> dict[str, Any]:
        from tritonport.config import default_triton
        from tritonport.verify.parity import ParityOptions, check_file
        from tritonport.verify.parity_report import to_json

        tier = "T3" if self.options.device == "cuda" else "T2"
        limit = min(self.options.limit, self.left - 5)
        if limit < 5:
            return {"verdict": "NOT-RUN", "summary": "out of time", "notes": [], "seconds": 0}
        options = ParityOptions(
            tiers=(tier,), requested=frozenset({tier}), triton=default_triton(), case=case, timeout=limit
        )
        report = to_json([check_file(file, options)])["files"][0]
        self.log(f"{tier} {name}", json.dumps(report, indent=1))
        found = report["tiers"][0]
        messages = [self._without_folders(one["message"]) for one in found["findings"]]
        notes = [self._without_folders(one) for one in found["notes"]]
        return {
            "verdict": found["verdict"],
            "summary": messages[0] if messages else self._without_folders(found["summary"]),
            # The traceback of a tier that failed itself is in the log.
            "notes": messages if found["verdict"] == "ERROR" else [*messages, *notes],
            "seconds": found["seconds"],
            "runs": found.get("runs", []),
            "kernels": found.get("kernels", []),
        }

    def _without_folders(self, text: str) -> str:
        """The results are about files of the checkout and of the package, wherever those lie."""
        for folder in (ROOT, self.options.liger):
            if folder is not None:
                text = text.replace(f"{folder}{os.sep}", "")
        return text

    def jobs(self) -> tuple[list[Any], list[Any]]:
        """The kernel files to check: the fixtures, and Liger's where its folder was given."""
        only = QUICK_FIXTURES if self.options.quick else None
        fixtures = []
        for folder in sorted((ROOT / "fixtures").iterdir()):
            file = folder / f"{folder.name}.py"
            if file.is_file() and (only is None or folder.name in only):
                fixtures.append((folder.name, str(file), None, self.results.fixtures))
        liger = []
        if self.options.liger is not None:
            for op in QUICK_OPS if self.options.quick else LIGER_OPS:
                case = HERE / "liger" / f"{op}_case.py"
                file = self.options.liger / "liger_kernel" / "ops" / f"{op.removesuffix('_blocks')}.py"
                liger.append((op, str(file), str(case), self.results.liger))
        return fixtures, liger


@contextlib.contextmanager
def unused_imports_refused() -> Iterator[None]:
    """In processes started in the block, `UNUSED_IMPORTS` raise ImportError, and this checkout can be imported."""
    with tempfile.TemporaryDirectory(prefix="tritonport-measure-") as folder:
        for name in UNUSED_IMPORTS:
            refusal = 'raise ImportError("left out of the measurement")\n'
            Path(folder, f"{name}.py").write_text(refusal, encoding="utf-8")
        path = [str(ROOT), folder, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        os.environ["PYTHONPATH"] = os.pathsep.join(one for one in path if one)
        os.environ["TRITON_CACHE_DIR"] = str(Path(folder, "cache"))
        yield


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options; raises SystemExit for those that cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=os.environ.get("OUT"), help="for the results [default: $OUT]")
    parser.add_argument("--liger", type=Path, help="folder that holds the package liger_kernel, 0.8.5")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: small inputs, in the emulator")
    parser.add_argument("--only", default="speed,fixtures,liger", help="steps, separated by commas")
    parser.add_argument("--quick", action="store_true", help="a few checks, in less than a minute")
    parser.add_argument("--budget", type=float, help="seconds for the whole run [default: 510, quick 100]")
    parser.add_argument("--speed-budget", type=float, default=240, help="seconds for the step speed")
    parser.add_argument("--limit", type=float, default=150, help="seconds for one kernel file")
    parser.add_argument("--jobs", type=int, help="kernel files at once")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=36)
    options = parser.parse_args(arguments)
    options.only = set(options.only.split(","))
    if options.out is None:
        parser.error("--out is needed where $OUT is not set")
    if unknown := options.only - {"speed", "fixtures", "liger"}:
        parser.error(f"no step {', '.join(sorted(unknown))}")
    if options.rounds < 2:
        parser.error("--rounds must be 2 or more: one round has no spread")
    if options.liger is not None and not (options.liger / "liger_kernel" / "ops").is_dir():
        parser.error(f"{options.liger} holds no package liger_kernel")
    if options.jobs is None:
        options.jobs = max(1, min(12, (os.cpu_count() or 1) - 2))
    options.budget = options.budget or (100 if options.quick else 510)
    if options.quick:
        options.rounds, options.iterations = min(options.rounds, 3), min(options.iterations, 12)
    options.out = Path(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def main() -> int:
    """The whole run; returns the exit code."""
    options = parse()
    with unused_imports_refused():
        run = Run(options)
        if not run.environment():
            run.say("no GPU: nothing to measure (--device cpu shows that the script works)")
            return 3
        if "speed" in options.only:
            run.speed()
        fixtures, liger = run.jobs()
        first = [*(liger if "liger" in options.only else ()), *(fixtures if "fixtures" in options.only else ())]
        run.parity("off", first)
        if not options.quick and options.device == "cuda":
            run.parity("on", first)
        run.results.write()
        found = run.results.findings()
        report(run)
    return 1 if found else 0


def report(run: Run) -> None:
    """The short tables, last, for whoever sees only the end of the output."""
    from summary import parity_line, speed_line, speed_means

    results = run.results
    for title, rows in (("fixtures", results.fixtures), ("Liger", results.liger)):
        if rows:
            print(f"\n{title}: verdict with contraction off, on")
            for name in sorted({row["name"] for row in rows}):
                print(" ", parity_line([row for row in rows if row["name"] == name]))
    if results.speed:
        print("\nspeed: Triton, port, port/Triton")
        for row in results.speed:
            print(" ", speed_line(row))
        means = speed_means(results.speed)
        if means is not None:
            print(f"  geometric mean {means[0]:.4f}x, control {means[1]:.4f}x")
    found = results.findings()
    print("\neverything holds" if not found else "\ndoes not hold, or was not shown:")
    for one in found:
        print(f"  {one[:300]}")
    print(f"({time.monotonic() - run.started:.0f} s)")


def stop_checks() -> None:
    """Ends checks that are still running; each is the leader of a group of its own."""
    for process in multiprocessing.active_children():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if process.pid is not None:
                os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    code = main()
    sys.stdout.flush()
    # The thread of a check that did not end must not keep this process.
    stop_checks()
    os._exit(code)
