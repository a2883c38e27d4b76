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


FEW = {
    # What few kernels need: the fixture, the stage and how often its port calls the function.
    "in_place_or": ("gated_delta", "mma", 2),
    "left_layout": ("gated_delta", "mma", 1),
    "start_store": ("gated_delta", "mma", 2),
    "in_layout": ("delta_backward", "mma", 1),
    "landed_as_is": ("retention", "mma", 1),
}


@pytest.mark.parametrize("function", FEW)
def test_a_fixture_calls_what_few_kernels_need(function: str) -> None:
    """The sanitizers run what the fixtures have."""
    fixture, stage, calls = FEW[function]
    text = (ROOT / f"fixtures/{fixture}/expected/{stage}.py").read_text(encoding="utf-8")
    assert (text.count(f" {function}("), text.count(f"def {function}(")) == (calls + 1, 1)


@pytest.mark.parametrize(
    ("fixture", "stage", "lines"),
    [
        # A store of one iteration of a loop around it, and a load that a store writes over.
        ("delta_backward", "tma", ["if start_k == 0:", "store_tile(grad_v_desc,"]),
        ("delta_backward", "tma", ["tma.async_load(earlier_desc,", "store_tile(grad_k_desc,"]),
        # Loops that store to columns of their own, and a store beside a descriptor of the other branch.
        (
            "retention",
            "tma",
            ["range(first, min(", "store_tile(scores_desc,", "-BLOCK_N):", "store_tile(scores_desc_2,"],
        ),
        ("retention", "tma", ["if DESCRIBED:", "tma_store(out_desc,", "else:", "store_tile(out_desc_2,"]),
        # What a statement computes beside its load is of its own iteration.
        (
            "retention",
            "async-copy",
            ["keys_k = start_n +", "k = k_ring.index(slot).load(k_layout) * gl.exp2((first - keys_k)"],
        ),
    ],
)
def test_a_fixture_holds_what_few_kernels_have(fixture: str, stage: str, lines: list[str]) -> None:
    text = (ROOT / f"fixtures/{fixture}/expected/{stage}.py").read_text(encoding="utf-8")
    kernel = text[text.rindex("_tiles(", 0, text.index("@launch_heuristics(")) if stage == "tma" else 0 :]
    place = 0
    for line in lines:
        place = kernel.find(line, place)
        assert place >= 0, line


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
