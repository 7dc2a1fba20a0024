"""Running the jobs: one process or several, the same records either way."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from paper_tables.all_rows import row_named
from paper_tables.point import Point
from paper_tables.run import run_point
from thrifty.errors import ThriftyError
from thrifty.typing import Json

__all__ = ["Job", "run_jobs"]

Records = list[Json]


@dataclass(frozen=True)
class Job:
    """One row at one point with one seed, all learners."""

    row: str
    point: Point
    seed: int

    def __str__(self) -> str:
        return f"{self.row}: {self.point}, seed={self.seed}"

    @property
    def size(self) -> int:
        """Roughly how long it takes: cells posed."""
        p = self.point
        return (p.n_tasks + p.n_unrelated) * p.n_features * p.n_examples


def run_jobs(jobs: Sequence[Job], n_jobs: int, done: Callable[[Job, Records], None]) -> None:
    """Run every job, the largest first, and hand over its records as it ends."""
    queue = sorted(jobs, key=lambda job: -job.size)
    for job, records in _in_turn(queue) if n_jobs == 1 else _at_once(queue, n_jobs):
        done(job, records)


def _in_turn(jobs: Sequence[Job]) -> Iterator[tuple[Job, Records]]:
    for job in jobs:
        yield job, _work(job)


def _at_once(jobs: Sequence[Job], n_jobs: int) -> Iterator[tuple[Job, Records]]:
    # Spawned, not forked: a forked child may inherit locks of threads it does not have.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=context, initializer=_die_quietly) as pool:
        waiting = {pool.submit(_work, job): job for job in jobs}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BrokenProcessPool as error:
            raise ThriftyError(
                "a worker process ended before its job did; perhaps memory ran out. Finished runs "
                "are kept: type the same command again, with fewer --jobs."
            ) from error
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _die_quietly() -> None:
    """An interruption is the parent's to report; a worker just ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _work(job: Job) -> Records:
    return run_point(row_named(job.row), job.point, job.seed)
