"""The fixtures: what each stage makes of the one before it is what stands in fixtures/<name>/expected/STAGE.py."""

from pathlib import Path

import pytest

from scripts.update_expected import BEFORE, BLACKWELL, blackwell
from tritonport.convert import ConvertOptions
from tritonport.upgrade import STAGES, upgrade_text

ROOT = Path(__file__).parents[2]
PORTS = sorted(
    path for path in ROOT.glob("fixtures/*/expected/literal.py") if "dot" in path.read_text(encoding="utf-8")
)
OTHERS = [ROOT / f"fixtures/{name}/expected/literal.py" for name in ("softmax", "welford")]
AGAIN = ("attention", "descriptor_matmul", "matmul")


def test_the_tiled_loops_have_a_golden() -> None:
    found = {path.parents[1].name for path in ROOT.glob("fixtures/*/expected/async-copy.py")}
    assert found >= {"attention", "attention_backward", "matmul"}
    found = {path.parents[1].name for path in ROOT.glob("fixtures/*/expected/tma.py")}
    assert found >= {"attention", "attention_backward", "block_pointer_matmul", "linear_attention", "matmul"}
    # Sums of fp8 products are added outside of the instruction: their dots stay synchronous.
    for stage, more in (("multibuffer", {"fp8_matmul"}), ("mma", set())):
        found = {path.parents[1].name for path in ROOT.glob(f"fixtures/*/expected/{stage}.py")}
        assert found >= {"attention", "block_pointer_matmul", "matmul", "persistent_matmul"} | more, stage


@pytest.mark.parametrize("function", ["in_place_or", "left_layout", "start_store"])
def test_a_fixture_calls_what_few_kernels_need(function: str) -> None:
    """The sanitizers run what the fixtures have."""
    text = (ROOT / "fixtures/gated_delta/expected/mma.py").read_text(encoding="utf-8")
    assert text.count(f"{function}(") > text.count(f"def {function}(") == 1


CASES = [
    pytest.param(path, stage, id=f"{path.parents[1].name}-{stage}")
    for path in [*PORTS, *OTHERS]
    for stage in STAGES
    # A stage that reads another one's output changes nothing where that has none.
    if stage not in BEFORE or path.with_name(f"{BEFORE[stage]}.py").is_file()
]


def upgraded(text: str, stage: str) -> str:
    return upgrade_text(text, path="kernel.py", options=ConvertOptions(triton="3.9", stage=stage)).text


@pytest.mark.parametrize("path, stage", CASES)
def test_the_stage_writes_the_expected_file(path: Path, stage: str) -> None:
    before = path.with_name(f"{BEFORE.get(stage, 'literal')}.py").read_text(encoding="utf-8")
    text = upgraded(before, stage)
    golden = path.with_name(f"{stage}.py")
    expected = golden.read_text(encoding="utf-8") if golden.is_file() else before
    hint = f"run `python scripts/update_expected.py {path.parents[1].name}` and read what changed"
    assert text == expected, hint
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    if path.parents[1].name in AGAIN:
        assert upgraded(text, stage) == text


@pytest.mark.parametrize("name", BLACKWELL)
def test_the_last_stage_for_sm_100(name: str) -> None:
    golden = ROOT / f"fixtures/{name}/expected/sm_100/mma.py"
    hint = f"run `python scripts/update_expected.py {name}` and read what changed"
    assert blackwell(ROOT / f"fixtures/{name}/{name}.py") == golden.read_text(encoding="utf-8"), hint
