"""Many files at once: one that ends its process does not take the others along."""

import os
from pathlib import Path

from tritonport.convert import ConvertOptions
from tritonport.report import Selection
from tritonport.run.convert_file import ConvertTask
from tritonport.run.convert_files import convert_files

KERNEL = (
    b"import triton\nimport triton.language as tl\n\n"
    b"@triton.jit\ndef k(x_ptr, BLOCK: tl.constexpr):\n    r = tl.arange(0, BLOCK)\n    tl.store(x_ptr + r, 0.0)\n"
)


class FatalPath(type(Path())):  # type: ignore[misc]
    """A path whose reading ends the process, as an error in native code does."""

    def read_bytes(self) -> bytes:
        os._exit(11)


def task(number: int, file: Path | None = None) -> ConvertTask:
    return ConvertTask(f"k{number}.py", ConvertOptions(), Selection(), file=file, data=KERNEL)


def test_results_are_in_order_and_progress_counts() -> None:
    seen: list[tuple[int, int, str]] = []
    results = convert_files([task(1), task(2), task(3)], 2, lambda *args: seen.append(args))
    assert [one.report.path for one in results] == ["k1.py", "k2.py", "k3.py"]
    assert seen == [(1, 3, "k1.py"), (2, 3, "k2.py"), (3, 3, "k3.py")]
    assert all(one.report.kernels[0].status == "converted" for one in results)


def test_a_process_that_dies_is_one_finding() -> None:
    results = convert_files([task(1), task(2, FatalPath("x")), task(3)], 2)
    assert [one.report.exit_code for one in results] == [0, 2, 0]
    assert results[1].report.diagnostics[0].code == "TP901"
    assert results[1].report.diagnostics[0].message == "the process that worked on this file died"
    assert results[2].text is not None and "@gluon.jit" in results[2].text


def test_an_exception_is_one_finding_with_its_traceback() -> None:
    # No file has such a name; what Python raises for it is not an OSError.
    results = convert_files([task(1, Path("a\0b")), task(2)])
    assert [one.report.exit_code for one in results] == [2, 0]
    (found,) = results[0].report.diagnostics
    assert (found.code, found.path) == ("TP901", "k1.py")
    assert found.message.startswith("tritonport failed on this file: ValueError: embedded null")
    assert results[0].traceback is not None and "read_bytes" in results[0].traceback
