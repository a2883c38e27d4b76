"""What sanitizers print, as findings."""

from tritonport.verify.sanitize.findings import Found, device_asserts, memcheck_reports

ASSERTS = """\
/x/matmul.py:537: unknown: block: [0,0,0], thread: [0,0,0] Assertion `Buffer being accessed has outstanding writes. \
Operand: A` failed.
/x/matmul.py:537: unknown: block: [0,0,0], thread: [1,0,0] Assertion `Buffer being accessed has outstanding writes. \
Operand: A` failed.
/x/matmul.py:540: unknown: block: [1,0,0], thread: [0,0,0] Assertion `Deadlock detected` failed.
Traceback (most recent call last):
  File "/kernels/run.py", line 3, in <module>
torch.AcceleratorError: CUDA error: device-side assert triggered
"""
"""In the form in which the driver prints an assert that fails, with texts of ConSan's."""

MEMCHECK = """\
========= COMPUTE-SANITIZER
a line of the program's own
========= Invalid __global__ write of size 4 bytes
=========     at scale_kernel+0x1d0 in /kernels/scale.py:14
=========     by thread (44,0,0) in block (2,0,0)
=========     Access at 0x7f2d44a004b0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2d44a00000 of size 1,200 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernelEx [0x3b8f2c] in libcuda.so.1
=========
========= Invalid __global__ write of size 4 bytes
=========     at scale_kernel+0x1d0 in /kernels/scale.py:14
=========     by thread (45,0,0) in block (2,0,0)
=========     Access at 0x7f2d44a004b4 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2d44a00000 of size 1,200 bytes
=========
========= Invalid __shared__ read of size 16 bytes
=========     at 0x90 in /kernels/scale.py:20:other_kernel
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x10004 is misaligned
=========
========= ERROR SUMMARY: 3 errors
"""
"""In the form in which compute-sanitizer prints its reports; the third as older ones print the place."""


def test_asserts_are_told_once_with_their_line():
    first, second = device_asserts(ASSERTS)
    text = "Buffer being accessed has outstanding writes. Operand: A"
    assert first == Found(text, "/x/matmul.py", 537, "", "0,0,0", "0,0,0")
    assert (second.text, second.line, second.block) == ("Deadlock detected", 540, "1,0,0")


def test_an_assert_without_a_place_names_no_file():
    (found,) = device_asserts("unknown:0: unknown: block: [0,0,0], thread: [5,0,0] Assertion `lost` failed.\n")
    assert (found.text, found.file, found.line, found.thread) == ("lost", "", 0, "5,0,0")


def test_other_output_is_no_assert():
    assert device_asserts("test.py:3: AssertionError: Assertion `x` failed\nAssertion `y` failed.\n") == []


def test_reports_of_memcheck_are_told_once_with_their_line():
    write, read = memcheck_reports(MEMCHECK)
    assert write.text == (
        "Invalid __global__ write of size 4 bytes; Access at 0x... is out of bounds; "
        "and is 1 bytes after the nearest allocation at 0x... of size 1,200 bytes"
    )
    assert (write.file, write.line, write.function) == ("/kernels/scale.py", 14, "scale_kernel")
    assert (write.block, write.thread) == ("2,0,0", "44,0,0")
    assert read.text == "Invalid __shared__ read of size 16 bytes; Address 0x... is misaligned"
    assert (read.file, read.line, read.function) == ("/kernels/scale.py", 20, "other_kernel")


def test_a_clean_run_of_memcheck_has_no_report():
    assert memcheck_reports("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == []
    (found,) = memcheck_reports("========= Invalid __global__ read of size 8 bytes\n=========     at kernel+0x10\n")
    assert (found.file, found.line, found.function) == ("", 0, "kernel")
