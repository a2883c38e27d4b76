"""The fixtures: what each stage makes of the literal port is what stands in fixtures/<name>/expected/STAGE.py."""

from pathlib import Path

import pytest

from tritonport.convert import ConvertOptions
from tritonport.upgrade import STAGES, upgrade_text

ROOT = Path(__file__).parents[2]
PORTS = sorted(
    path for path in ROOT.glob("fixtures/*/expected/literal.py") if "dot" in path.read_text(encoding="utf-8")
)
OTHERS = [ROOT / f"fixtures/{name}/expected/literal.py" for name in ("softmax", "welford")]


def test_the_tiled_loops_have_a_golden() -> None:
    found = {path.parents[1].name for path in ROOT.glob("fixtures/*/expected/async-copy.py")}
    assert found >= {"attention", "attention_backward", "matmul"}
    found = {path.parents[1].name for path in ROOT.glob("fixtures/*/expected/tma.py")}
    assert found >= {"attention", "attention_backward", "block_pointer_matmul", "linear_attention", "matmul"}


CASES = [
    pytest.param(path, stage, id=f"{path.parents[1].name}-{stage}")
    for path in [*PORTS, *OTHERS]
    for stage in STAGES
    # Rings hold the tiles that the stage before copies.
    if stage != "multibuffer" or path.with_name("tma.py").is_file()
]


@pytest.mark.parametrize("path, stage", CASES)
def test_the_stage_writes_the_expected_file(path: Path, stage: str) -> None:
    literal = path.read_text(encoding="utf-8")
    text = upgrade_text(literal, path="kernel.py", options=ConvertOptions(triton="3.9", stage=stage)).text
    golden = path.with_name(f"{stage}.py")
    before = path.with_name("tma.py")
    if not golden.is_file() and stage == "multibuffer" and before.is_file():
        golden = before  # no loop copies its tiles: what the stage before writes
    expected = golden.read_text(encoding="utf-8") if golden.is_file() else literal
    hint = f"run `python scripts/update_expected.py {path.parents[1].name}` and read what changed"
    assert text == expected, hint
    again = upgrade_text(text, path="kernel.py", options=ConvertOptions(triton="3.9", stage=stage)).text
    assert again == text
