"""Independent tasks on all cores, in order, with progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from typing import TypeVar

from experiments.executors import end_with_parent
from experiments.study import Progress, silent

T = TypeVar("T")
R = TypeVar("R")


def run_all(work: Callable[[T], R], tasks: Sequence[T], progress: Progress = silent, workers: int | None = None) -> list[R]:
    """``[work(task) for task in tasks]`` by worker processes, as many as cores. Tasks and results must be picklable.

    Inside a worker it works there, one task after the other: the cores are shared out already.

    Workers start afresh: a script that calls this runs it under ``if __name__ == "__main__":``.

    The first failure ends the run: its exception is raised and what has not begun is dropped.
    """
    cores = 1 if parent_process() is not None else os.cpu_count() or 1
    count = min(workers or cores, len(tasks))
    if count <= 1:
        results = []
        for i, task in enumerate(tasks):
            results.append(work(task))
            progress(i + 1, len(tasks))
        return results
    # spawned, not forked: the same everywhere, and safe beside the threads of numpy and of the progress display
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                progress(done, len(tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _one_thread() -> None:
    """One thread of linear algebra per worker: the cores are already shared out, and idle threads would spin on them."""
    import numpy as np  # noqa: F401  only what is loaded can be limited
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    end_with_parent()
    threadpool_limits(1)
