"""Kernels of public packages, their files unchanged, through `upgrade --stage all`: right, and how fast.

    python scripts/gpu/upgraded_real.py --fla FOLDER --flag-gems FOLDER --attn-gym FOLDER --out RESULTS [NAME...]

`FOLDER` holds the package (`pip download --no-deps fla-core==0.6.0`, `flag-gems==5.0.2` or `attn-gym==0.0.17`, then
`unzip`); the functions of a package that is not given are left out. The kernel files of the latter two run as they are
among stand-ins for what they import (`parts/`). Each file is upgraded by the
command line; then each function of `real/` runs in a process of its own, with the file as it is and with the upgraded
one in its place. Three runs of the upgraded one have to give the same bits, close to those of the original: `--jobs`
functions at once, which also fills the cache for the tuners. Then, one function after another, the launches of both
are timed in turns, each tuned over the configurations of its file. One line for each: the stages, whether the launches
got descriptors, the verdict, the speed as a share of the original's, and the spread. Without a GPU (`--device cpu`) it
checks small inputs in the emulator and times nothing. RESULTS gets the upgraded files, real.json and a log for each
function.

Exit codes: 0 every function is right; 1 some are not.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from parts import NEEDED, assembled  # noqa: E402

from tritonport.verify.processes import run_to_end  # noqa: E402

CASES = {
    "attention": "fla/ops/attn/parallel.py",
    "attention_bwd": "fla/ops/attn/parallel.py",
    "chunk_o": "fla/ops/common/chunk_o.py",
    "chunk_dv": "fla/ops/common/chunk_o.py",
    "chunk_dv_local": "fla/ops/common/chunk_o.py",
    "chunk_dqkwg": "fla/ops/common/chunk_o.py",
    "chunk_h": "fla/ops/common/chunk_h.py",
    "delta_h": "fla/ops/common/chunk_delta_h.py",
    "kkt": "fla/ops/common/chunk_scaled_dot_kkt.py",
    "gated_wy": "fla/ops/gated_delta_rule/wy_fast.py",
    "gated_wy_bwd": "fla/ops/gated_delta_rule/wy_fast.py",
    "delta_wy": "fla/ops/delta_rule/wy_fast.py",
    "gla_o": "fla/ops/gla/chunk.py",
    "gla_da": "fla/ops/gla/chunk.py",
    "gla_dv": "fla/ops/gla/chunk.py",
    "comba_kkt": "fla/ops/comba/wy_fast.py",
    "comba_wy": "fla/ops/comba/wy_fast.py",
    "deltaproduct_o": "fla/ops/gated_delta_product/chunk_deltaproduct_o.py",
    "gsa_k": "fla/ops/gsa/chunk_fwd.py",
    "kda_dav": "fla/ops/kda/chunk_bwd.py",
    "kda_wy": "fla/ops/kda/wy_fast.py",
    "nsa_compression": "fla/ops/nsa/compression.py",
    "parallax": "fla/ops/parallax/parallel.py",
    "rebased": "fla/ops/rebased/parallel.py",
    "gems_addmm": "flag_gems/ops/addmm.py",
    "gems_baddbmm": "flag_gems/ops/baddbmm.py",
    "gems_bmm": "flag_gems/ops/bmm.py",
    "gems_chunk_o": "flag_gems/fused/FLA/chunk_o.py",
    "gems_delta_h": "flag_gems/fused/FLA/chunk_delta_h.py",
    "gems_kkt": "flag_gems/fused/FLA/chunk_scaled_dot_kkt.py",
    "gems_mm": "flag_gems/ops/mm.py",
    "gems_syrk": "flag_gems/ops/mm.py",
    "gems_wy": "flag_gems/fused/FLA/wy_fast.py",
    "gym_gdn_dv": "attn_gym/linear/gdn/bwd/triton/chunk_gdn_bwd_delta_h.py",
    "gym_gdn_o": "attn_gym/linear/gdn/fwd/triton/chunk_gdn_fwd_output.py",
    "gym_kda_da": "attn_gym/linear/kda/bwd/triton/chunk_kda_bwd_wy_triton.py",
    "gym_gla_o": "attn_gym/linear/kda/fwd/triton/chunk_gla_fwd_o.py",
}
"""The functions, by the name of their case, and the file that each is in."""

PACKAGES = ("fla", "flag_gems", "attn_gym")

RIGHT = ("equal", "close")
"""The verdicts of what may be timed."""

RELATIVE = 1e-2
"""How far a bfloat16 result may be from the original's, as the norm of the difference over the norm."""


def package_of(name: str) -> str:
    """The package that a function is of."""
    return CASES[name].partition("/")[0]


def upgraded_file(out: Path, file: str) -> Path:
    """Where the upgraded text of a file lies."""
    return out / "upgraded" / file.replace("/", "__")


def upgrade(folder: Path, file: str, out: Path) -> str:
    """Takes one file through all stages; gives the error, or nothing."""
    target = upgraded_file(out, file)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_file():
        return ""
    command = [sys.executable, "-m", "tritonport", "upgrade", "--stage", "all", "--target", "sm_90", "-q"]
    command += ["-o", str(target), str(folder / file)]
    ended = run_to_end(command, _environment(folder), target.with_suffix(".log"), 600)
    return "" if target.is_file() else ended.output[-400:] or "no output"


def _environment(folder: Path) -> dict[str, str]:
    # The stubs last: what is installed comes before them.
    paths = [str(ROOT), str(folder), *filter(None, [os.environ.get("PYTHONPATH")]), str(HERE / "captured" / "stubs")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TRITON_DEFAULT_FP_FUSION": "1"}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}; all of them without")
    parser.add_argument("--fla", type=Path)
    parser.add_argument("--flag-gems", type=Path)
    parser.add_argument("--attn-gym", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--timeout", type=float, default=150.0)
    parser.add_argument("--budget", type=float, default=540.0, help="seconds for everything")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--one", choices=("check", "time"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    options.folders = {name: folder.resolve() for name in PACKAGES if (folder := getattr(options, name)) is not None}
    if options.one:
        print("RESULT " + json.dumps(measured(options.names[0], options)), flush=True)
        return 0
    names = [name for name in options.names or CASES if package_of(name) in options.folders]
    for package in NEEDED.keys() & options.folders.keys():
        files = [CASES[name] for name in names if package_of(name) == package]
        target = options.out / "parts" / package
        options.folders[package] = assembled(options.folders[package], package, files, target)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        files = list(dict.fromkeys(CASES[name] for name in names))
        folders = (options.folders[file.partition("/")[0]] for file in files)
        found = pool.map(lambda folder, file: upgrade(folder, file, options.out), folders, files)
        problems = dict(zip(files, found, strict=True))
    end = time.monotonic() + options.budget

    def row_of(name: str, step: str) -> dict[str, Any]:
        problem = problems[CASES[name]]
        limit = min(options.timeout, end - time.monotonic())
        return {"name": name, "error": problem} if problem else _in_a_process(name, step, options, limit)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda name: row_of(name, "check"), names))
    for place, row in enumerate(rows):
        if options.device == "cuda" and row.get("verdict") in RIGHT:
            timed = row_of(row["name"], "time")
            rows[place] = {**row, "untimed": timed["error"]} if "error" in timed else timed
        print(line(rows[place]), flush=True)
        (options.out / "real.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    right = [row for row in rows if row.get("verdict") in RIGHT]
    faster = [row["name"] for row in rows if row.get("words") == "faster"]
    print(f"{len(right)} of {len(rows)} right; faster: {', '.join(faster) or 'none'}")
    return 0 if len(right) == len(rows) else 1


def _in_a_process(name: str, step: str, options: argparse.Namespace, limit: float) -> dict[str, Any]:
    if limit < 10:
        return {"name": name, "error": "no time left"}
    command = [sys.executable, str(Path(__file__).resolve()), name, "--one", step]
    folder = options.folders[package_of(name)]
    command += [f"--{package_of(name).replace('_', '-')}", str(folder)]
    command += ["--out", str(options.out), "--device", options.device, "--rounds", str(options.rounds)]
    command += ["--iterations", str(options.iterations)]
    ended = run_to_end(command, _environment(folder), options.out / f"{name}-{step}.log", limit)
    found = re.findall(r"^RESULT (.*)$", ended.output, re.MULTILINE)
    if found:
        return dict(json.loads(found[-1]))
    said = [one for one in ended.output.splitlines() if one.strip()]
    return {"name": name, "error": "timed out" if ended.timed_out else (said or ["no output"])[-1][:300]}


def line(row: dict[str, Any]) -> str:
    """What is printed of one function."""
    if "error" in row:
        return f"{row['name']:<16} ERROR {row['error']}"
    speed = row.get("untimed", "not timed")
    if "ratio" in row:
        speed = f"{row['ratio']:.3f}x +-{row['spread']:.3f} {row['words']}"
    copies = f"{row['descriptors']}/{row['asked']} descriptors"
    return f"{row['name']:<16} {row['stages']:<42} {copies:<17} {row['verdict']:<6} {speed} {' '.join(row['kernels'])}"


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Checks and times one function."""
    with contextlib.ExitStack() as stack:
        if options.device == "cpu":
            from tritonport.verify.emulate import emulated

            stack.enter_context(emulated(target="sm_90"))
        return _measured(name, options)


def _measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    from tritonport.verify.case import load_case
    from tritonport.verify.modules import module_name
    from tritonport.verify.tensors import leaves

    file = options.folders[package_of(name)] / CASES[name]
    text = upgraded_file(options.out, CASES[name])
    case = HERE / "real" / f"{name}_case.py"
    original, port = load_case(case, file), load_case(case, file, text.read_text(encoding="utf-8"), text)
    made = _counted(port.space.load(module_name(file)[0]))
    inputs = original.inputs(options.device, 0, {})
    expected = leaves(original.launch(**inputs), "result")
    runs = [leaves(port.launch(**inputs), "result") for _ in range(3 if options.device == "cuda" else 1)]
    stages = re.search(r"^# tritonport: stages? (.*?) for", text.read_text(encoding="utf-8"), re.MULTILINE)
    row: dict[str, Any] = {"name": name, "stages": stages[1] if stages else "none", "kernels": []}
    row.update(descriptors=sum(made), asked=len(made), **_verdict(expected, runs))
    if options.device == "cuda" and options.one == "time" and row["verdict"] in RIGHT:
        row.update(_timed(original, port, inputs, options))
    return row


def _counted(module: Any) -> list[bool]:
    """Per descriptor that a launch asks for, from now on, whether it gets one."""
    made: list[bool] = []
    own = getattr(module, "tile_descriptor", None)
    if own is not None:

        def counted(*given: Any, **named: Any) -> Any:
            found = own(*given, **named)
            made.append(found is not None)
            return found

        module.tile_descriptor = counted
    return made


def _verdict(expected: dict[str, Any], runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """equal: bit for bit; close: within RELATIVE; MOVING: the runs differ; WRONG: anything else."""
    import torch

    from tritonport.verify.compare import bitwise_equal

    tensors = {name: one for name, one in expected.items() if isinstance(one, torch.Tensor)}
    if not tensors or any(run.keys() != expected.keys() for run in runs):
        return {"verdict": "WRONG", "what": "other results"}
    worst = 0.0
    same = True
    for name, one in tensors.items():
        if not all(bitwise_equal(run[name], runs[0][name]) for run in runs[1:]):
            return {"verdict": "MOVING", "what": name}
        if not bool(torch.isfinite(one).all()):
            return {"verdict": "WRONG", "what": f"{name} of the original is not finite"}
        same = same and bitwise_equal(one, runs[0][name])
        apart = (runs[0][name].double() - one.double()).norm() / one.double().norm()
        worst = max(worst, float(apart) if bool(torch.isfinite(apart)) else float("inf"))
    verdict = "equal" if same else "close" if worst <= RELATIVE else "WRONG"
    return {"verdict": verdict, "apart": worst}


def _timed(original: Any, port: Any, inputs: Any, options: argparse.Namespace) -> dict[str, Any]:
    from tritonport.bench.clock import CudaClock
    from tritonport.bench.interleave import Effort, interleaved
    from tritonport.bench.launches import SharedArena, copied, record, run_all
    from tritonport.bench.statistics import ORIGINAL
    from tritonport.verify.tensors import input_leaves

    before = copied(input_leaves(inputs))
    arena, clock = SharedArena(), CudaClock()
    sides = {ORIGINAL: original, "all": port}
    found = {name: record(case, inputs, before, arena, clock) for name, case in sides.items()}

    def prepared(name: str) -> Any:
        def prepare() -> None:
            for tensor, start in found[name].fresh:
                tensor.copy_(start)

        return prepare

    lanes = {name: (prepared(name), run_all(one.launches)) for name, one in found.items()}
    timings = interleaved(lanes, clock, Effort(options.rounds, options.iterations, seconds=20.0))
    ratio = timings.ratio("all")
    times = {f"{name}_ms": timings.lanes[name].median for name in found}
    kernels = [one.kernel for one in found["all"].launches]
    return {"ratio": ratio.value, "spread": ratio.spread, "words": ratio.words, "kernels": kernels, **times}


if __name__ == "__main__":
    sys.exit(main())
