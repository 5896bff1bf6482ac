"""Many points of one function: in parallel, resumable, the same numbers in any order on any machine."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsp import check
from experiments.axes import Axis, Scalar, Values, axes_of
from experiments.executors import Pool
from experiments.records import (
    RESERVED,
    Field,
    Point,
    Record,
    checked_fixed,
    code_version,
    digest,
    name_of,
    point_key,
    record_of,
    rng_of,
    wants_rng,
)
from experiments.store import PERIOD, Outcome, Store

if TYPE_CHECKING:
    import xarray as xr

CHUNK_TIME = 0.2
"""Work [s] handed to a worker at a time, once it is known how long a point takes."""
LONGEST_CHUNK = 500
Task = tuple[str, dict[str, Scalar]]
Done = tuple[str, str, Record, str, float]


@dataclass(frozen=True, kw_only=True)
class State:
    """How far a sweep is. ``resumed``: points found in the store; ``rate`` [1/s] of computing; ``eta`` [s] to the end."""

    done: int
    total: int
    failed: int
    resumed: int
    rate: float
    eta: float


def silent(state: State) -> None:
    """A progress report that says nothing."""
    del state


def sweep(
    point: Point,
    axes: Mapping[str, Axis | Values | Sequence[Any]],
    executor: Executor | None = None,
    store: str | Path | None = None,
    *,
    fixed: Mapping[str, Any] | None = None,
    seed: int = 0,
    units: Mapping[str, str] | None = None,
    description: Mapping[str, Any] | None = None,
    changed: str = "refuse",
    retry: bool = False,
    progress: Callable[[State], None] = silent,
    stop: Callable[[], bool] = lambda: False,
) -> xr.Dataset:
    """``point`` at every combination of ``axes``, as a dataset with one dimension an axis.

    ``point(parameters)`` gets the axes' values and the ``fixed`` ones in one flat dictionary and returns a flat dictionary of
    scalars and `records.Field` arrays; with a parameter ``rng`` it gets a generator that depends on ``seed`` and the
    parameters alone. Points alike in ``point.shared(parameters)``, where it has that, are computed one after the other. One that
    raises is a point of status "failed" with its error; the sweep goes on. ``executor``: any of
    `concurrent.futures`' kind, by default processes on all cores (a script then needs ``if __name__ == "__main__":``).
    ``store``: a file that keeps results as they arrive and from which a second run takes them; ``changed``: see `Store.begin`;
    ``retry``: compute failed points again. ``description``: plain data that the results depend on and the parameters don't
    tell. ``stop``: asked between results; when true, or at Ctrl-C, what is there is returned, the rest as status "missing".

    Raises ValueError for wrong axes and reserved names (`records.RESERVED`), for a point function that a store can't tell by its content, and for a store of another
    sweep; RuntimeError when an executor given here breaks.
    """
    from experiments.dataset import assemble

    check.count("sweep", "seed", seed)
    grid = axes_of(axes)
    constant = checked_fixed(fixed or {})
    taken = sorted({*grid.names, *(dim for dim, _ in grid.dims), *constant} & set(RESERVED))
    if taken:
        raise ValueError(f"a sweep keeps these names for itself: {', '.join(taken)}; give the parameter or axis another")
    twice = sorted(set(grid.names) & set(constant))
    if twice:
        raise ValueError(f"parameters are both fixed and on an axis: {', '.join(twice)}")
    name = name_of(point, strict=store is not None)
    effective = {
        "point": name, "seed": seed, "fixed": constant, "axes": grid.describe(), "study": dict(description or {})
    }  # fmt: skip
    study = digest({"point": name, "seed": seed, "study": description or {}})
    tasks = [(point_key(study, p), p) for p in grid.points(constant)]
    run = _Run(point=point, seed=seed, total=len({key for key, _ in tasks}), progress=progress, stop=stop)
    notices: list[str] = []
    version = code_version(point)
    pool = Pool(executor, len(tasks))
    try:
        if store is not None:
            run.store = Store(store)
            notices = run.store.begin(version, effective, changed)
        run.drive(tasks, pool, retry)
        outcomes = run.outcomes([key for key, _ in tasks])
    finally:
        pool.close(run.cancelled)
        if run.store is not None:
            run.store.close()
    attributes = {"version": version, "notices": notices, "cancelled": run.cancelled, "description": effective}
    return assemble(grid, outcomes, units or {}, attributes)


@dataclass(kw_only=True)
class _Run:
    """A sweep under way."""

    point: Point
    seed: int
    total: int
    progress: Callable[[State], None]
    stop: Callable[[], bool]
    store: Store | None = None
    cancelled: bool = False
    resumed: set[str] = field(default_factory=set)
    results: dict[str, Outcome] = field(default_factory=dict)
    parameters: dict[str, dict[str, Scalar]] = field(default_factory=dict)
    failed: int = 0
    busy: float = 0.0
    began: float = field(default_factory=time.monotonic)
    reported: float = 0.0

    def drive(self, tasks: Sequence[Task], pool: Pool, retry: bool) -> None:
        """Compute what the store does not hold."""
        self.parameters = dict(tasks)
        if self.store is not None:
            self.resumed = self.store.known(list(self.parameters), retry)
        source = together(self.point, [(key, p) for key, p in self.parameters.items() if key not in self.resumed])
        suspects: deque[Task] = deque()
        flying: dict[Future[list[Done]], list[Task]] = {}
        self._report(True)
        try:
            while True:
                if self.stop():
                    self.cancelled = True
                    break
                # A point that was under way when a worker died goes alone, so that a second death names it.
                while len(flying) < (1 if suspects else pool.in_flight):
                    chunk = [suspects.popleft()] if suspects else self._chunk(source)
                    if not chunk:
                        break
                    if not self._submit(pool, chunk, flying):
                        suspects.extend(chunk)
                        break
                if not flying and not suspects:
                    break
                ready, _ = wait(flying, timeout=self.store.due if self.store else PERIOD, return_when=FIRST_COMPLETED)
                if self._collect(ready, flying, suspects, pool):
                    pool.restart()
                if self.store is not None and self.store.due <= 0:
                    self.store.flush()
                self._report(False)
        except KeyboardInterrupt:
            self.cancelled = True
        for future in flying:
            future.cancel()
        try:
            self._report(True)
        except KeyboardInterrupt:
            self.cancelled = True

    def _chunk(self, source: Iterator[Task]) -> list[Task]:
        each = self.busy / len(self.results) if self.results else CHUNK_TIME
        size = max(1, min(LONGEST_CHUNK, int(CHUNK_TIME / max(each, 1e-6))))
        return [task for _, task in zip(range(size), source, strict=False)]

    def _submit(self, pool: Pool, chunk: list[Task], flying: dict[Future[list[Done]], list[Task]]) -> bool:
        try:
            flying[pool.executor.submit(work, self.point, self.seed, chunk)] = chunk
        except BrokenExecutor as error:
            if not pool.own:
                raise RuntimeError(f"the executor broke: {error}") from error
            return False
        return True

    def _collect(
        self, ready: set[Future[list[Done]]], flying: dict[Future[list[Done]], list[Task]], suspects: deque[Task], pool: Pool
    ) -> bool:
        """Take results in; true when the workers of our own pool have died."""
        broken = False
        for future in ready:
            chunk = flying.pop(future)
            try:
                for key, status, record, error, seconds in future.result():
                    self._put(key, Outcome(parameters={}, status=status, record=record, error=error, seconds=seconds))
            except BrokenExecutor as error:
                if not pool.own:
                    raise RuntimeError(f"the executor broke: {error}") from error
                broken = True
                if len(chunk) == 1 and not flying and pool.alone:
                    self._put(chunk[0][0], _failure("WorkerDied: the process that computed this point was ended", 0.0))
                else:
                    suspects.extend(chunk)
            except Exception as error:  # what the executor itself raises, an unpicklable result or a worker lost for good
                if len(chunk) == 1:
                    self._put(chunk[0][0], _failure(f"{type(error).__name__}: {error}", 0.0))
                else:
                    suspects.extend(chunk)
        pool.alone = bool(suspects) and not flying
        return broken

    def _put(self, key: str, outcome: Outcome) -> None:
        outcome = Outcome(
            parameters=self.parameters[key], status=outcome.status, record=outcome.record, error=outcome.error,
            seconds=outcome.seconds,
        )  # fmt: skip
        self.results[key] = outcome
        self.failed += outcome.status == "failed"
        self.busy += outcome.seconds
        if self.store is not None:
            self.store.put(key, outcome)

    def _report(self, now: bool) -> None:
        clock = time.monotonic()
        if not now and clock < self.reported + 0.1:
            return
        self.reported = clock
        done = len(self.results)
        rate = done / max(clock - self.began, 1e-9)
        left = self.total - done - len(self.resumed)
        eta = left / rate if done else float("inf")
        self.progress(
            State(
                done=done + len(self.resumed),
                total=self.total,
                failed=self.failed,
                resumed=len(self.resumed),
                rate=rate,
                eta=eta,
            )
        )

    def outcomes(self, keys: Sequence[str]) -> list[Outcome | None]:
        """What is known of each point, in the order of ``keys``."""
        kept = dict(self.store.get(self.resumed)) if self.store is not None else {}
        return [self.results.get(key) or kept.get(key) for key in keys]


def together(point: Point, tasks: Sequence[Task]) -> Iterator[Task]:
    """``tasks`` with those side by side that a point's ``shared(parameters)`` says have something costly in common."""
    shared = getattr(point, "shared", None)
    if shared is None:
        return iter(tasks)
    first: dict[Any, int] = {}
    places = [first.setdefault(shared(parameters), len(first)) for _, parameters in tasks]
    return (tasks[i] for i in sorted(range(len(tasks)), key=places.__getitem__))


def work(point: Point, seed: int, chunk: Sequence[Task]) -> list[Done]:
    """Points one after the other; runs in a worker."""
    random = wants_rng(point)
    done: list[Done] = []
    for key, parameters in chunk:
        begin = time.perf_counter()
        try:
            returned = point(dict(parameters), rng=rng_of(seed, parameters)) if random else point(dict(parameters))
            record, error = _clear(record_of(returned), parameters), ""
        except KeyboardInterrupt:
            raise
        except BaseException as failure:  # SystemExit, too: a point that wants to end the program ends itself alone
            record, error = {}, _failure_text(failure)
        done.append((key, "failed" if error else "ok", record, error, time.perf_counter() - begin))
    return done


def _clear(record: Record, parameters: Mapping[str, Scalar]) -> Record:
    """The record without entries that only repeat a parameter.

    Raises TypeError where one has a parameter's name only, or a name that the sweep keeps for itself.
    """
    for name in record:
        value = record[name]
        if name in RESERVED or (isinstance(value, Field) and set(value.dims) & set(RESERVED)):
            raise TypeError(f"{name}: a sweep keeps the names {', '.join(RESERVED)} for itself, give the entry another")
    for name in [n for n in record if n in parameters]:
        value = record.pop(name)
        if isinstance(value, Field) or value != parameters[name]:
            raise TypeError(f"{name}: is a parameter, and the record gives it another value, {value!r}")
    for name, value in record.items():
        if isinstance(value, Field) and set(value.dims) & ({*parameters, *record}):
            raise TypeError(f"{name}: its dimensions {value.dims} have the name of a parameter or of another entry")
    return record


def _failure_text(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} [{Path(last.filename).name}:{last.lineno}]"


def _failure(error: str, seconds: float) -> Outcome:
    return Outcome(parameters={}, status="failed", record={}, error=error, seconds=seconds)
