"""Where the points of a sweep are computed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import active_children, get_context, parent_process
from typing import Any

UNKNOWN_WORKERS = 32
"""Chunks kept in flight for an executor that does not say how many workers it has."""


class Here(Executor):
    """An executor without workers: each task runs where it is submitted."""

    _max_workers = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn`` now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Pool:
    """The executor of a sweep: the caller's, or processes of our own, started when first asked and again when they die."""

    def __init__(self, executor: Executor | None, n: int) -> None:
        self.own = executor is None
        self.alone = False
        self.workers = min(os.cpu_count() or 1, n)
        self.others = set(active_children())
        self._executor = executor
        known = self.workers if executor is None else getattr(executor, "_max_workers", None)
        self.in_flight = 1 if isinstance(executor, Here) else 2 * known if isinstance(known, int) else UNKNOWN_WORKERS

    @property
    def executor(self) -> Executor:
        """Where to submit; nothing has started as long as this was not asked."""
        if self._executor is None:
            self._executor = self._start()
        return self._executor

    def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"), initializer=worker_start)
        try:
            pool.submit(_ready).result()
        except BrokenExecutor as error:
            raise RuntimeError(
                'worker processes can\'t start: a script that sweeps must do so under if __name__ == "__main__":'
            ) from error
        return pool

    def restart(self) -> None:
        """New workers in place of dead ones."""
        self.executor.shutdown(wait=True)
        self._executor = None

    def close(self, cancelled: bool) -> None:
        """End workers of our own; at once when ``cancelled``."""
        if not self.own or self._executor is None:
            return
        self._executor.shutdown(wait=not cancelled, cancel_futures=True)
        if cancelled:
            for process in set(active_children()) - self.others:
                process.terminate()


def _ready() -> None:
    """A task that shows whether workers can start."""


def end_with_parent() -> None:
    """Watch the process that started this one, in a thread: when it is gone, killed or not, this one ends at once."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent,), name="parent watch", daemon=True).start()


def _watch(parent: Any) -> None:
    parent.join()
    os._exit(1)


def worker_start() -> None:
    """Ctrl-C is for the driving process; one thread of linear algebra each, as the cores are shared out already."""
    from threadpoolctl import threadpool_limits

    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
