"""Run what torch.compile wrote, and its port, on the same inputs: `python scripts/gpu/inductor.py FOLDER`.

Every file of the folder is the output of Inductor (`TORCH_LOGS=output_code`): kernels in strings, `call` and
`get_args`. The converted file's own `call` must give the original's numbers. One process per file, with a timeout.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

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
    pairs = list(zip(*outputs, strict=True))
    if all(
        torch.equal(left.reshape(-1).view(torch.uint8), right.reshape(-1).view(torch.uint8)) for left, right in pairs
    ):
        return f"equal bit for bit ({len(pairs)} outputs)"
    worst = max((left.double() - right.double()).abs().max().item() for left, right in pairs)
    scale = max(left.double().abs().max().item() for left, _ in pairs)
    return f"differs: {worst:.3g} at values up to {scale:.3g}"


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
        print(f"{path.name:56} {said[:150]}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
