"""Calling a provider: threads or coroutines, time-outs, rates, retries that cannot bill twice.

A call is tried again only where that is safe: after an error that is known not to bill, or with the
same idempotency key where the provider honours keys. Everything else ends as *unknown*.
"""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from thrifty.cells.sources.answered import Answered
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import NotBilled, PurchaseFailed, ThriftyError

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How a call ended; ``error`` is the kind of error, never its text, which may hold a secret.

    ``withdrawn`` is a call that was not made: the purchase was not ours any more, or the user
    interrupted before its turn came.
    """

    kind: Literal["answer", "refused", "failed", "unknown", "withdrawn"]
    answer: object = None
    error: str = ""
    #: a provider that raises KeyboardInterrupt or SystemExit means it; it is booked first
    leave: BaseException | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Raised:
    """What the provider's function raised, carried past code that treats some errors as its own:
    a provider that raises CancelledError must not look like a call that we have cancelled."""

    error: BaseException


class _Entry:
    """The gate to the provider's function: a call is made by whoever goes through it.

    A thread may be held up until its time is over. Whether it has called is decided here: either
    it has gone in, and the end of the call is unknown, or it finds the gate closed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = self._closed = False

    def go_in(self) -> bool:
        """Whether the call may be made; from now on it counts as made."""
        with self._lock:
            self._begun = not self._closed
            return self._begun

    def close(self) -> bool:
        """Let nobody in any more; whether somebody had gone in."""
        with self._lock:
            self._closed = True
            return self._begun


class _CallAgain(Exception):
    """Carries nothing but a name: retry logs show it."""


def needed_packages() -> None:
    """Say at once what is missing, before anything is bought."""
    try:
        import aiolimiter  # noqa: F401
        import anyio  # noqa: F401
        import stamina  # noqa: F401
    except ImportError as error:
        raise ThriftyError(
            f"sources that call a provider need the package {error.name}. "
            "Type: pip install 'thrifty[providers]'"
        ) from error
    for name in ("stamina", "httpx"):  # calls are on the bill; whoever wants lines says so
        if logging.getLogger(name).level == logging.NOTSET:
            logging.getLogger(name).setLevel(logging.ERROR)


async def rate_limiter(source: CallableSource) -> AsyncLimiter | None:
    """A limiter that remembers the calls of the last second, also those of an earlier purchase."""
    rate = source.limits.per_second
    if rate is None:
        return None
    from aiolimiter import AsyncLimiter

    # a slow rate (one call in ten seconds) is one call per longer period
    most, period = (rate, 1.0) if rate >= 1 else (1.0, 1.0 / rate)
    limiter = AsyncLimiter(most, period)
    now = time.monotonic()
    for _ in range(min(int(most), sum(1 for at in source.recent if now - at < period))):
        await limiter.acquire()
    return limiter


async def call_provider(
    source: CallableSource,
    examples: Sequence[object],
    features: Sequence[str],
    key: str,
    limiter: AsyncLimiter | None,
    may_call: Callable[[], bool],
    *,
    costs: bool = True,
) -> Outcome:
    """Call until there is an answer, or it is not safe to call again.

    ``may_call`` is asked right before each call, after any waiting. What does not cost is called
    again however it ended: there is no bill to be in doubt about.
    """
    last = await _once(source, examples, features, key, limiter, may_call)
    uncertain = last.error if last.kind == "unknown" else ""
    if _try_again(source, last, costs=costs):
        import stamina  # setting it up takes as long as the rest of a call: not for the first try

        with suppress(_CallAgain):
            async for attempt in stamina.retry_context(
                on=_CallAgain,
                attempts=source.limits.attempts,
                timeout=None,
                wait_initial=0.05,
                wait_max=5,
            ):
                with attempt:
                    if attempt.num > 1:
                        last = await _once(source, examples, features, key, limiter, may_call)
                    if last.kind == "unknown":
                        uncertain = last.error
                    if _try_again(source, last, costs=costs):
                        raise _CallAgain(last.error)
    if not costs and last.kind == "unknown":
        return Outcome("refused", error=last.error, leave=last.leave)
    if uncertain and costs and last.kind in ("refused", "failed", "withdrawn"):
        # An earlier try may have been billed; a later refusal does not undo that.
        return Outcome("unknown", error=uncertain)
    return last


def _try_again(source: CallableSource, last: Outcome, *, costs: bool) -> bool:
    """Whether calling again can bill nothing twice."""
    harmless = source.idempotent or not costs
    safe = last.kind == "refused" or (last.kind == "unknown" and harmless)
    return safe and last.leave is None


async def _once(
    source: CallableSource,
    examples: Sequence[object],
    features: Sequence[str],
    key: str,
    limiter: AsyncLimiter | None,
    may_call: Callable[[], bool],
) -> Outcome:
    import anyio

    if limiter is not None:
        await limiter.acquire()
    if not may_call():
        return Outcome("withdrawn")
    source.note_call()
    entry = _Entry()
    try:
        with anyio.fail_after(source.limits.timeout):
            answer = await _invoke(source, list(examples), list(features), key, entry)
    except Exception as error:
        answer = _Raised(error)
    if isinstance(answer, Answered):
        answer = answer.in_order(examples, features)
    if not isinstance(answer, _Raised):
        return Outcome("answer", answer)
    error_kind = type(answer.error).__name__
    refusals: tuple[type[Exception], ...] = (NotBilled, *source.not_billed)
    if isinstance(answer.error, refusals):
        return Outcome("refused", error=error_kind)
    if isinstance(answer.error, PurchaseFailed):
        return Outcome("failed", error=error_kind)
    leave = answer.error if isinstance(answer.error, KeyboardInterrupt | SystemExit) else None
    # What went wrong before the function was entered (no thread was available) billed nothing.
    return Outcome("unknown" if entry.close() else "refused", error=error_kind, leave=leave)


async def _invoke(
    source: CallableSource, examples: list[object], features: list[str], key: str, entry: _Entry
) -> object:
    import anyio

    keyed = {"idempotency_key": key} if source.idempotent else {}

    def fn() -> object:
        if not entry.go_in():
            return None  # nobody waits for it any more
        try:
            return source.fn(examples, features, **keyed)
        except BaseException as error:
            return _Raised(error)

    if inspect.iscoroutinefunction(source.fn) or inspect.iscoroutinefunction(
        getattr(source.fn, "__call__", None)  # noqa: B004
    ):
        answer = fn()
    else:
        answer = await anyio.to_thread.run_sync(fn, abandon_on_cancel=True)
    if inspect.isawaitable(answer):
        return await _awaited(answer)
    return answer


async def _awaited(answer: Awaitable[object]) -> object:
    import asyncio  # takes long to load, and who prints a bill calls nobody

    try:
        return await answer
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # our own time-out or interruption
        return _Raised(error)
    except BaseException as error:
        return _Raised(error)
