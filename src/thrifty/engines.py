"""Many workers: threads, joblib's processes, Dask and Ray behind one small interface.

Thrifty decides what is done and in which order; an engine only runs it. An engine may run a piece
of work twice: it never holds money, so nothing is bought again.

A pool takes a function and its arguments and gives something whose ``result()`` waits. Work that
is lost with its worker is run again: by the engine itself where it does that (Dask, Ray), by the
pool where it does not (loky).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells
from thrifty.cells.cells import Charges
from thrifty.checks import whole_number
from thrifty.errors import BadInput, BadParameter
from thrifty.on_demand import needed

if TYPE_CHECKING:
    import distributed
    import ray

#: how often work is given to a fresh worker after its worker has died
_RETRIES = 5


#: what work gives
R = TypeVar("R")
Given = TypeVar("Given", covariant=True)


class StartedWork(Protocol[Given]):
    """Work that was started."""

    def result(self) -> Given:
        """What it gave, once it is done."""


class Pool(ABC):
    """Runs functions on workers."""

    n_jobs: int

    @abstractmethod
    def submit(self, function: Callable[..., R], *args: object) -> StartedWork[R]:
        """Start the work; the answer's ``result()`` waits for it."""

    def share(self, value: object) -> object:
        """A value that many pieces of work take, sent once where the engine can do that."""
        return value

    @abstractmethod
    def close(self) -> None:
        """Let the workers go."""

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Threads(Pool):
    """Threads of this process; kernels release the interpreter lock."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._threads = ThreadPoolExecutor(n_jobs, thread_name_prefix="thrifty")

    def submit(self, function: Callable[..., R], *args: object) -> StartedWork[R]:
        return self._threads.submit(function, *args)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


class Loky(Pool):
    """joblib's processes. A worker that dies takes the whole executor along: a new one is made."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._executor()

    def _executor(self) -> Executor:
        from joblib.externals.loky import get_reusable_executor

        made: Executor = get_reusable_executor(max_workers=self.n_jobs, timeout=300)
        return made

    def submit(self, function: Callable[..., R], *args: object) -> StartedWork[R]:
        return _Again(self, function, args)

    def close(self) -> None:
        """Idle workers end by themselves and serve the next call until then."""


class _Again(Generic[R]):
    """Work for loky that outlives its worker."""

    def __init__(self, pool: Loky, function: Callable[..., R], args: tuple[object, ...]) -> None:
        self._pool, self._function, self._args = pool, function, args
        self._future: Future[R] | None = None
        self._start()

    def _start(self) -> None:
        """Whatever breaks at this very moment is begun again when it is waited for."""
        with suppress(BrokenExecutor):
            self._future = self._pool._executor().submit(self._function, *self._args)

    def result(self) -> R:
        for _ in range(_RETRIES):
            with suppress(BrokenExecutor):
                if self._future is not None:
                    return self._future.result()
            self._start()
        return self._pool._executor().submit(self._function, *self._args).result()


class Dask(Pool):
    """The Dask cluster this process is connected to, or a local one of its own."""

    def __init__(self, n_jobs: int, client: distributed.Client | None = None) -> None:
        distributed = needed("distributed", "engine='dask'", "dask")
        self.n_jobs = n_jobs
        self._own = False
        if client is None:
            try:
                client = distributed.get_client()
            except ValueError:
                self._own = True
                client = distributed.Client(
                    n_workers=n_jobs,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=50,
                )
        self.client = client

    def submit(self, function: Callable[..., R], *args: object) -> StartedWork[R]:
        # Packed by us: a worker that cannot load what Dask has packed falls silent for ever.
        packed = needed("distributed.protocol.pickle", "engine='dask'", "dask").dumps(
            (function, args)
        )
        started: StartedWork[R] = self.client.submit(
            _unpacked, packed, pure=False, retries=_RETRIES
        )
        return started

    # Nothing is scattered: what is scattered is lost with the worker that holds it.

    def close(self) -> None:
        if self._own:
            self.client.close()
            if self.client.cluster is not None:
                self.client.cluster.close()


def _unpacked(packed: bytes) -> Any:
    """On a worker of Dask: the work that it was given."""
    try:
        function, args = needed("distributed.protocol.pickle", "engine='dask'", "dask").loads(
            packed
        )
    except Exception as error:
        raise BadInput(
            f"a worker cannot load what it is given ({type(error).__name__}: {error}). Whatever a "
            "task or a prediction uses, rules of your own too, must be installed where it runs."
        ) from error
    return function(*args)


class Ray(Pool):
    """The Ray cluster this process is connected to (or RAY_ADDRESS names), or a local one."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs, self._ray = n_jobs, needed("ray", "engine='ray'", "ray")
        self._own = not self._ray.is_initialized()
        if self._own:
            named = os.environ.get("RAY_ADDRESS")
            local = {} if named else {"address": "local", "num_cpus": n_jobs}
            self._ray.init(include_dashboard=False, log_to_driver=False, logging_level=40, **local)
        self._known: dict[Callable[..., object], Any] = {}

    def submit(self, function: Callable[..., R], *args: object) -> StartedWork[R]:
        if function not in self._known:
            self._known[function] = self._ray.remote(max_retries=_RETRIES)(function)
        return _RayResult(self._ray, self._known[function].remote(*args))

    def share(self, value: object) -> object:
        return self._ray.put(value)

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()


class _RayResult:
    def __init__(self, ray: ModuleType, reference: ray.ObjectRef) -> None:
        self._ray, self._reference = ray, reference

    def result(self) -> Any:
        return self._ray.get(self._reference)


ENGINES: dict[str, Callable[[int], Pool]] = {
    "threads": Threads,
    "processes": Loky,
    "loky": Loky,
    "dask": Dask,
    "ray": Ray,
}


def open_pool(engine: Any, n_jobs: int | None) -> Pool:
    """The pool of that name, or around a ``distributed.Client``.

    >>> with open_pool("threads", 2) as pool:
    ...     pool.submit(sum, [1, 2]).result()
    3
    """
    jobs = read_n_jobs(n_jobs)
    if isinstance(engine, Pool):
        return engine
    if isinstance(engine, str) and engine in ENGINES:
        return ENGINES[engine](jobs)
    if hasattr(engine, "submit") and hasattr(engine, "scatter"):
        return Dask(jobs, engine)
    raise BadParameter(
        f"engine must be one of {sorted(ENGINES)}, or a distributed.Client; got {engine!r}."
    )


def read_n_jobs(n_jobs: int | None) -> int:
    """How many workers: None is 1, -1 one per core.

    >>> read_n_jobs(3)
    3
    """
    if n_jobs is None:
        return 1
    if n_jobs == -1:
        return os.cpu_count() or 1
    try:
        return whole_number("n_jobs", n_jobs)
    except BadParameter:
        raise BadParameter(
            f"n_jobs must be 1 or more, or -1 for one worker per core; got {n_jobs!r}."
        ) from None


@dataclass(frozen=True, eq=False)
class ChargedCells:
    """Which cells an attempt read: row masks by feature, or all of them.

    ``paid``: charge by charge, where prices have orders, so that the same orders are paid again.
    """

    features: NDArray[np.int64]
    masks: NDArray[np.uint64]
    everything: bool
    paid: Charges = ()

    @classmethod
    def at(cls, cells: Cells) -> ChargedCells:
        """What went through this reader."""
        touched = cells.meter.touched
        features = np.flatnonzero(touched.any(axis=1))
        return cls(features, touched[features], cells.meter.everything, cells.paid_charges)

    def replay(self, cells: Cells) -> None:
        """Read the same cells through another reader, which counts them by what it owns."""
        cells.charge_again(self.paid)
        for i in range(len(self.features)):
            cells.meter.charge(self.features[i : i + 1], self.masks[i])
        if self.everything:
            cells.meter.charge_everything()
