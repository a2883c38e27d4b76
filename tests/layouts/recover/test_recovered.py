"""`convert --layouts recovered`: the port has the layouts of Triton's own compile, and computes the same."""

import functools
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("triton")

from tests.layouts.recover import kernels
from tritonport.cli import cli
from tritonport.layouts.recover.witness import Compiler, parse_type
from tritonport.verify.case import load_case
from tritonport.verify.compile.compiler import compile_specs
from tritonport.verify.compile.forked import run_forked
from tritonport.verify.compile.resources import Resources
from tritonport.verify.compile.spec import complete
from tritonport.verify.compile.target import activate, gpu_target

FIXTURES = Path(__file__).parents[3] / "fixtures"
FILE = Path(kernels.__file__)
TARGET = "sm_90"
# Operations whose layout decides what is fast, and the operand that has it (None: the result).
OPERATIONS = {
    "tt.load": None,
    "tt.store": 0,
    "tt.reduce": 0,
    "tt.atomic_rmw": None,
    "tt.dot": None,
    "ttng.warp_group_dot": None,
}


def convert(file: Path, output: Path, *flags: str) -> Result:
    return CliRunner().invoke(cli, ["convert", str(file), "--target", TARGET, "-o", str(output), *flags])


def compiled(file: Path, case: Path, text: str | None, kernel: str, specialisation: int) -> str:
    """The TTGIR of a kernel's nth specialisation, of the file itself or of a text in its place."""

    def call() -> str:
        activate(TARGET)
        loaded = load_case(case, file, text)
        specs = [spec for spec in map(complete, loaded.compile_specs) if spec.kernel == kernel]
        result = compile_specs([specs[specialisation - 1]], TARGET)[0]
        assert isinstance(result, Resources), result
        return result.ttgir

    (outcome,) = run_forked([call], timeout=200)
    assert outcome.value is not None, outcome.output
    return outcome.value


def layouts(ttgir: str) -> Counter[object]:
    """How often each operation has each layout, as a map."""

    def call() -> Counter[object]:
        compiler = Compiler(gpu_target(TARGET))
        found: Counter[object] = Counter()

        def visit(op: object) -> None:
            name = op.get_name()  # type: ignore[attr-defined]
            if name not in OPERATIONS:
                return
            operand = OPERATIONS[name]
            value = op.get_result(0) if operand is None else op.get_operand(operand)  # type: ignore[attr-defined]
            shape, _ = parse_type(str(value.get_type()))
            layout = compiler.layout_of(value) if shape else None
            if shape and layout is not None:
                found[(name, shape, compiler.linear(layout, shape))] += 1

        compiler.parse(ttgir).walk(visit)
        return found

    (outcome,) = run_forked([call], timeout=60)
    assert outcome.value is not None, outcome.output
    return outcome.value


@functools.cache
def of_original(file: Path, case: Path, kernel: str, specialisation: int) -> Counter[object]:
    return layouts(compiled(file, case, None, kernel, specialisation))


@pytest.mark.parametrize(
    ("fixture", "kernel", "specialisation", "differs"),
    [
        ("transpose", "transpose_kernel", 1, False),
        ("matmul", "matmul_kernel", 5, False),
        ("scatter_add", "scatter_add_kernel", 1, True),  # an atomic operation has a layout of its own
    ],
)
def test_layouts_are_those_of_triton(
    tmp_path: Path, fixture: str, kernel: str, specialisation: int, differs: bool
) -> None:
    file = FIXTURES / fixture / f"{fixture}.py"
    case = file.with_name(f"{fixture}_case.py")
    own, recovered = tmp_path / "own.py", tmp_path / "recovered.py"
    flags = ["--layouts", "recovered", "--specialisation", str(specialisation)]

    assert convert(file, own).exit_code == 0
    assert "TP207" not in convert(file, recovered, "--kernel", kernel, *flags).stderr

    original = of_original(file, case, kernel, specialisation)
    assert sum(original.values()) >= 2
    assert layouts(compiled(file, case, recovered.read_text(), kernel, specialisation)) == original
    assert (layouts(compiled(file, case, own.read_text(), kernel, specialisation)) != original) is differs


def test_the_port_says_for_what_it_was_made_and_computes_the_same(tmp_path: Path) -> None:
    port = tmp_path / "port.py"
    assert convert(FILE, port, "--layouts", "recovered").exit_code == 0
    text = port.read_text()

    assert "# What Triton chose for sm_90: bf16, BLOCK_M=16, BLOCK_N=64.\n" in text
    assert "size_per_thread=[1, 8], threads_per_warp=[4, 8], warps_per_cta=[4, 1], order=[1, 0]" in text
    assert "coalesced" not in text
    checked = CliRunner().invoke(cli, ["parity-check", str(FILE), "--port", str(port), "--tiers", "T0,T2"])
    assert checked.exit_code == 0, checked.output


def test_a_kernel_without_a_specialisation_keeps_layouts_of_its_own(tmp_path: Path) -> None:
    file, output = tmp_path / "alone.py", tmp_path / "port.py"
    file.write_text(FILE.read_text().partition("SIGNATURE")[0])

    result = convert(file, output, "--layouts", "recovered", "--output-format", "concise")

    assert "alone.py:14:1: warning TP207" in result.stderr
    assert "no entry of COMPILE_SPECS" in result.stderr
    assert "coalesced(" in output.read_text()
    guessed = convert(file, output, "--layouts", "recovered", "--guess-signature")
    assert "TP207" not in guessed.stderr or "does not compile" in guessed.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--guess-signature"], "go with --layouts recovered"),
        (["--specialisation", "2"], "go with --layouts recovered"),
        (["--case", str(FILE)], "go with --layouts recovered"),
    ],
)
def test_flags_that_need_the_mode(flags: list[str], message: str, tmp_path: Path) -> None:
    result = convert(FILE, tmp_path / "port.py", *flags)

    assert result.exit_code == 2
    assert message in result.output


def test_standard_input_cannot_be_compiled() -> None:
    result = CliRunner().invoke(cli, ["convert", "-", "--layouts", "recovered"], input="import triton\n")

    assert result.exit_code == 2
    assert "standard input" in result.output


def test_a_specialisation_that_does_not_exist_is_named(tmp_path: Path) -> None:
    result = convert(FILE, tmp_path / "port.py", "--layouts", "recovered", "--specialisation", "7")

    assert "there is no specialisation 7, only 1" in result.stderr
