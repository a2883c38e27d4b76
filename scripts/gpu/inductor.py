"""Run what torch.compile wrote, and its port, on the same inputs: `python scripts/gpu/inductor.py FOLDER`.

Every file of the folder is the output of Inductor (`TORCH_LOGS=output_code`): kernels in strings, `call` and
`get_args`. The converted file's own `call` must give the original's numbers. Each file tunes its kernels by the clock,
so that two runs of one file may choose blocks that sum in another order: where the numbers differ, the port runs again
with the configurations that the original chose, and has to give the same bits. One process per file, with a timeout.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
TIMEOUT = 150.0


def _load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def compare(path: Path) -> str:
    """One line: how the outputs of the port's `call` compare with the original's."""
    import torch
    import triton

    from tritonport.convert import ConvertOptions, convert_text

    version = ".".join(triton.__version__.split(".")[:2])
    done = convert_text(path.read_text(), path=path.name, options=ConvertOptions(triton=version))
    left = [kernel.name for kernel in done.kernels if kernel.status == "left"]
    if left:
        return f"left: {', '.join(left)}"
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder) / f"port_{path.name}"
        port.write_text(done.text)
        original, ported = _load(path, f"original_{path.stem}"), _load(port, f"port_{path.stem}")
        torch.manual_seed(0)
        arguments = original.get_args()
        outputs = [
            module.call([value.clone() if isinstance(value, torch.Tensor) else value for value in arguments])
            for module in (original, ported)
        ]
    torch.cuda.synchronize()
    if equal(*outputs):
        return f"equal bit for bit ({len(outputs[0])} outputs)"
    apart = ", ".join(f"{name}: {said}" for name, said in choices(original, ported).items()) or "no choice differs"
    configured_as(ported, original)
    again = ported.call([value.clone() if isinstance(value, torch.Tensor) else value for value in arguments])
    torch.cuda.synchronize()
    if equal(outputs[0], again):
        return f"equal bit for bit with the original's configurations ({apart})"
    pairs = list(zip(outputs[0], again, strict=True))
    worst = max((left.double() - right.double()).abs().max().item() for left, right in pairs)
    scale = max(left.double().abs().max().item() for left, _ in pairs)
    return f"differs: {worst:.3g} at values up to {scale:.3g}, with the original's configurations too ({apart})"


def equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether the outputs have the same bits."""
    import torch

    def raw(value: torch.Tensor) -> torch.Tensor:
        return value.reshape(-1).view(torch.uint8)

    return all(torch.equal(raw(one), raw(other)) for one, other in zip(left, right, strict=True))


def tuned(module: ModuleType) -> dict[str, Any]:
    """The kernels of a file that has run, each with the launcher that its tuner chose."""
    return {name: value for name, value in vars(module).items() if len(getattr(value, "launchers", ())) == 1}


def choices(original: ModuleType, ported: ModuleType) -> dict[str, str]:
    """Kernel to the two configurations, where they differ."""
    others = tuned(ported)
    found = {}
    for name, kernel in tuned(original).items():
        if name in others:
            one, other = (str(side.launchers[0].config) for side in (kernel, others[name]))
            if one != other:
                found[name] = f"{one} / {other}"
    return found


def configured_as(ported: ModuleType, original: ModuleType) -> None:
    """Has the port's kernels run with the configurations of the original's, tuned no more."""
    others = tuned(ported)
    for name, kernel in tuned(original).items():
        if name in others:
            other = others[name]
            other.configs, other.launchers, other.compile_results = [kernel.launchers[0].config], [], []
            other.inductor_meta = {**other.inductor_meta, "dynamic_scale_rblock": False}
            if hasattr(other, "_reload_kernel") and other.fn.fn is None:
                other._reload_kernel()
            other.precompile()


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        print(compare(Path(sys.argv[2])))
        return 0
    code = 0
    for path in sorted(Path(sys.argv[1]).glob("*.py")):
        command = [sys.executable, __file__, "--one", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
            said = lines[-1] if lines else "nothing"
        except subprocess.TimeoutExpired:
            said = f"not done after {TIMEOUT:.0f} s"
        code |= not said.startswith("equal")
        print(f"{path.name:56} {said[:400]}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
