"""Kernel files of packages that are hard to import: each as it is, among stand-ins for what it imports.

`parts/` has the stand-ins, one folder for each package.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

STAND_INS = Path(__file__).resolve().parent / "parts"
_FLA = ("chunk_delta_h", "chunk_o", "chunk_scaled_dot_kkt", "index", "triton_ops_helper", "utils", "wy_fast")
NEEDED = {
    "attn_gym": (
        "_backends/triton/utils.py",
        "linear/_delta_rule/chunk_schedule.py",
        "linear/_delta_rule/constants.py",
        "linear/_delta_rule/triton/chunk_scheduler.py",
        "linear/kda/constants.py",
        "linear/kda/utils.py",
    ),
    "flag_gems": (
        "runtime/backend/_nvidia/heuristics_config_utils.py",
        "utils/device_info.py",
        "utils/triton_lang_extension.py",
        "ops/bmm.py",
        "ops/mm_streamk.py",
        *(f"fused/FLA/{name}.py" for name in _FLA),
    ),
}
"""Per package what its kernel files import that is taken as it is."""


def assembled(folder: Path, package: str, files: Iterable[str], target: Path) -> Path:
    """A folder with a package made of the stand-ins and of the files of the real one, unchanged.

    Args:
        folder: what holds the real package.
        files: the kernel files, relative to `folder`.
        target: where the new package goes; what is there already stays.
    """
    shutil.copytree(STAND_INS / package, target / package, dirs_exist_ok=True)
    for name in (*(f"{package}/{one}" for one in NEEDED[package]), *files):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, place)
    return target


__all__ = ["NEEDED", "assembled"]
