"""Converting many files, in this process or several; one file's failure never stops the others."""

from collections.abc import Callable, Iterator, Sequence

from tritonport.report import Diagnostic, FileReport
from tritonport.run.convert_file import ConvertTask, FileResult, convert_file

Progress = Callable[[int, int, str], None]
"""Called with how many files are done, how many there are, and the path of the last one."""


def convert_files(tasks: Sequence[ConvertTask], jobs: int = 1, progress: Progress | None = None) -> list[FileResult]:
    """The results of the tasks, in their order. `jobs` processes work at once; 1 stays in this one."""
    jobs = min(jobs, len(tasks))
    results: list[FileResult] = []
    for result in _in_processes(tasks, jobs) if jobs > 1 else map(convert_file, tasks):
        results.append(result)
        if progress is not None:
            progress(len(results), len(tasks), result.report.path)
    return results


def _in_processes(tasks: Sequence[ConvertTask], jobs: int) -> Iterator[FileResult]:
    # Imported here: it costs more than the conversion of a small file.
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    done = 0
    try:
        with ProcessPoolExecutor(max_workers=jobs) as pool:
            for result in pool.map(convert_file, tasks, chunksize=1):
                done += 1
                yield result
    except BrokenProcessPool:
        # A process died (a crash in a parser, no memory): which file did it shows when each has a process of its own.
        for task in tasks[done:]:
            yield _alone(task)


def _alone(task: ConvertTask) -> FileResult:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    try:
        with ProcessPoolExecutor(max_workers=1) as pool:
            return pool.submit(convert_file, task).result()
    except BrokenProcessPool:
        found = Diagnostic("TP901", "the process that worked on this file died", task.path, 1, 1)
        return FileResult(FileReport(task.path, diagnostics=(found,)))
