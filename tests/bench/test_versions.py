"""The versions of a file: which stages there is something to time for, and why not for the others."""

from pathlib import Path

import pytest

from tests.cli.conftest import BROKEN_FILE, LEFT_FILE, SCALE_FILE
from tests.upgrade.kernels import matmul
from tritonport.bench.result import FileBench
from tritonport.bench.run import BenchOptions, Task, run_tries, takes_part
from tritonport.bench.versions import Version, check_stage, known_stages, stages_until, versions_of
from tritonport.report import InputError
from tritonport.upgrade.stages import STAGES
from tritonport.verify.isolate import Outcome
from tritonport.verify.verdict import Verdict


def made(folder: Path, text: str, *names: str, target: str = "sm_80") -> dict[str, Version]:
    (folder / "k.py").write_text(text)
    return {one.stage: one for one in versions_of(folder / "k.py", names or known_stages(), "3.9", target)}


def test_every_stage_is_there_in_order(tmp_path: Path) -> None:
    assert known_stages() == ("literal", *STAGES)
    assert tuple(made(tmp_path, SCALE_FILE)) == known_stages()


def test_a_stage_is_what_upgrade_writes(tmp_path: Path) -> None:
    found = made(tmp_path, matmul(), "literal", "async-copy", "literal+async-copy")
    literal, staged = found["literal"].text, found["async-copy"].text
    assert literal is not None and "async_copy" not in literal and "@gluon.jit" in literal
    assert staged is not None and "async_copy.wait_group(NUM_BUFFERS - 1)" in staged
    # Applied one after another, it is the same program again.
    assert found["literal+async-copy"].reason == "nothing in the file for it; the same as async-copy"


def test_a_stage_that_does_not_apply_says_why(tmp_path: Path) -> None:
    scale = made(tmp_path, SCALE_FILE, "literal", "async-copy")
    assert scale["async-copy"] == Version("async-copy", None, None, "nothing in the file for it; the same as literal")
    text = matmul().replace("tl.load(a_ptrs,", "tl.load(a_ptr + (offs_k // 2)[None, :],")
    text = text.replace("tl.load(b_ptrs,", "tl.load(b_ptr + (offs_k // 2)[:, None],")
    refused = made(tmp_path, text, "literal", "async-copy")["async-copy"]
    assert refused.text is None and not refused.failed
    assert refused.reason.startswith("the same as literal: line ") and "TP302" in refused.reason


def test_a_file_whose_kernels_stay_has_nothing_to_time(tmp_path: Path) -> None:
    (only,) = made(tmp_path, LEFT_FILE, "literal").values()
    assert only.text is None
    assert only.reason.startswith("the same as the original: line ") and "TP102" in only.reason


def test_gluon_begins_at_its_next_stage(tmp_path: Path) -> None:
    literal = made(tmp_path, matmul(), "literal")["literal"].text
    assert literal is not None
    found = made(tmp_path, literal, "literal", "async-copy")
    assert found["literal"].reason == "nothing in the file for it; the same as the original"
    assert found["async-copy"].text is not None


def test_a_file_that_does_not_parse_is_unusable(tmp_path: Path) -> None:
    with pytest.raises((InputError, SyntaxError)):
        made(tmp_path, BROKEN_FILE)


def test_names_of_stages() -> None:
    assert check_stage("literal+async-copy") == "literal+async-copy"
    with pytest.raises(ValueError, match="no stage 'async'; known: literal, async-copy"):
        check_stage("async")
    assert stages_until("literal") == ("literal",)
    assert stages_until(STAGES[0]) == ("literal", STAGES[0])
    assert stages_until("all") == known_stages()


class TestTries:
    """The process that times a file, as far as how it ends is concerned."""

    TASK = Task("mm.py", "mm_case.py", BenchOptions(stages=("literal", "async-copy"), timeout=9.0))

    def run(self, *ends: Outcome) -> tuple[FileBench, list[Task]]:
        left, tasks = list(ends), []

        def isolated(function: object, task: Task, **options: object) -> Outcome:
            tasks.append(task)
            return left.pop(0)

        return run_tries(self.TASK, isolated=isolated), tasks

    def test_a_stage_that_ends_the_process_is_left_out_of_the_next_try(self) -> None:
        result = FileBench("mm.py", "mm_case.py", Verdict.FAIL)
        crash = Outcome(signal="SIGABRT", phase="async-copy: launch, 64")
        error = Outcome(error="Traceback\n  ...\nRuntimeError: an illegal memory access", phase="literal: launch, 64")
        found, tasks = self.run(crash, error, Outcome(value=result, returned=True))
        assert found is result
        assert [task.broken for task in tasks] == [
            {},
            {"async-copy": "the process ended with SIGABRT"},
            {"async-copy": "the process ended with SIGABRT", "literal": "RuntimeError: an illegal memory access"},
        ]

    def test_what_no_stage_is_to_blame_for_ends_the_file(self) -> None:
        found, tasks = self.run(Outcome(timed_out=True, phase="original: launch, 64"))
        assert len(tasks) == 1
        assert (found.verdict, found.message) == (Verdict.ERROR, "original: launch, 64: not done after 9 s")

    def test_one_stage_is_not_blamed_twice(self) -> None:
        crash = Outcome(signal="SIGABRT", phase="literal: import")
        found, tasks = self.run(crash, crash)
        assert len(tasks) == 2
        assert found.verdict is Verdict.ERROR


def test_in_a_directory_what_offers_inputs_takes_part(tmp_path: Path) -> None:
    case = "def make_inputs(device, seed): ...\ndef launch(): ...\n"
    (tmp_path / "a.py").write_text(SCALE_FILE)
    (tmp_path / "a_case.py").write_text(case + "def bench_inputs(device): ...\n")
    (tmp_path / "b.py").write_text(SCALE_FILE)
    (tmp_path / "b_case.py").write_text(case)
    (tmp_path / "c.py").write_text(SCALE_FILE + case + "def bench_inputs(device): ...\n")
    assert [name for name in ("a", "a_case", "b", "b_case", "c") if takes_part(tmp_path / f"{name}.py")] == ["a", "c"]
