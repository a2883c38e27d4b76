"""Write what tritonport makes of every fixture to fixtures/<name>/expected/, to be read before it is committed.

    python scripts/update_expected.py [NAME ...] [rings]

`rings`: the kernels of the tests of stage multibuffer, in tests/upgrade/data/rings; all of it without names.

Prints the files that changed. Exits with 1 where a kernel was left, and leaves that fixture's file as it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tritonport.convert import ConvertOptions, convert_text  # noqa: E402
from tritonport.source.module import SourceModule  # noqa: E402
from tritonport.upgrade import STAGES, upgrade_text  # noqa: E402
from tritonport.upgrade.multibuffer import multibuffered  # noqa: E402

TRITON = "3.9"
RINGS = ROOT / "tests" / "upgrade" / "data" / "rings"
BEFORE = {"multibuffer": "tma", "mma": "multibuffer"}
"""The stage whose output another one reads."""
BLACKWELL = ("attention", "matmul")
"""The fixtures that have expected/sm_100/mma.py too, made of the kernels themselves."""


def fixtures(names: list[str]) -> list[Path]:
    """The kernel files of the fixtures with these names, or of all; SystemExit where there is none of a name."""
    paths = [ROOT / "fixtures" / name / f"{name}.py" for name in names]
    missing = [path.stem for path in paths if not path.is_file()]
    if missing:
        raise SystemExit(f"no fixture {', '.join(missing)}")
    return paths or sorted(path for path in ROOT.glob("fixtures/*/*.py") if path.stem == path.parent.name)


def update(path: Path) -> bool:
    """Write one fixture's expected/literal.py; False where a kernel of it was left."""
    conversion = convert_text(
        path.read_text(encoding="utf-8"),
        path=str(path.relative_to(ROOT)),
        options=ConvertOptions(triton=TRITON),
    )
    left = [outcome.name for outcome in conversion.kernels if outcome.status != "converted"]
    if left or not conversion.kernels:
        reasons = "; ".join(f"{found.line}: {found.code} {found.message}" for found in conversion.diagnostics)
        print(f"{path.stem}: {', '.join(left) or 'no kernel'} not converted ({reasons})", file=sys.stderr)
        return False
    target = path.parent / "expected" / "literal.py"
    if not target.is_file() or target.read_text(encoding="utf-8") != conversion.text:
        target.parent.mkdir(exist_ok=True)
        target.write_text(conversion.text, encoding="utf-8")
        print(target.relative_to(ROOT))
    upgrade(path, conversion.text)
    if path.stem in BLACKWELL:
        target = path.parent / "expected" / "sm_100" / "mma.py"
        text = blackwell(path)
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
            print(target.relative_to(ROOT))
    return True


def blackwell(path: Path) -> str:
    """A fixture at the last stage for sm_100."""
    options = ConvertOptions(triton=TRITON, target="sm_100", stage="mma")
    text = path.read_text(encoding="utf-8")
    return upgrade_text(text, path=str(path.relative_to(ROOT)), options=options).text


def upgrade(path: Path, literal: str) -> None:
    """Write one fixture's expected/STAGE.py of each stage that changes what the stage before it wrote."""
    known = {literal}
    texts = {"literal": literal}
    for stage in STAGES:
        options = ConvertOptions(triton=TRITON, stage=stage)
        before = texts[BEFORE.get(stage, "literal")]
        texts[stage] = text = upgrade_text(before, path=str(path.relative_to(ROOT)), options=options).text
        target = path.parent / "expected" / f"{stage}.py"
        if text not in known and (not target.is_file() or target.read_text(encoding="utf-8") != text):
            target.write_text(text, encoding="utf-8")
            print(target.relative_to(ROOT))
        known.add(text)


def update_rings() -> None:
    """Write what the stage multibuffer makes of the kernels of its tests, beside them."""
    for path in sorted(RINGS.glob("*.in.py")):
        module = SourceModule(path.read_text(encoding="utf-8"), "kernel.py")
        text, _ = multibuffered(module, target="sm_90", triton=TRITON)
        target = path.with_name(path.name.replace(".in.py", ".py"))
        if target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
            print(target.relative_to(ROOT))


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "rings"]
    done = [update(path) for path in fixtures(names)] if names or len(sys.argv) == 1 else []
    if "rings" in sys.argv[1:] or len(sys.argv) == 1:
        update_rings()
    sys.exit(0 if all(done) else 1)
