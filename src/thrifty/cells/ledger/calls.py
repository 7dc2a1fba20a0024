"""Calling a provider: threads or coroutines, time-outs, rates, retries that cannot bill twice.

A call is tried again only where that is safe: after an error that is known not to bill, or with the
same idempotency key where the provider honours keys. Everything else ends as *unknown*.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import NotBilled, PurchaseFailed, ThriftyError

__all__ = ["Outcome", "call_provider", "needed_packages", "rate_limiter"]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How a call ended; ``error`` is the kind of error, never its text, which may hold a secret."""

    kind: Literal["answer", "refused", "failed", "unknown"]
    answer: Any = None
    error: str = ""


class _Again(Exception):
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


async def rate_limiter(source: CallableSource) -> Any:
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
    source: CallableSource, examples: Sequence[Any], features: Sequence[str], key: str, limiter: Any
) -> Outcome:
    """Call until there is an answer, or it is not safe to call again."""
    import stamina

    uncertain = ""
    last = Outcome("unknown")
    try:
        async for attempt in stamina.retry_context(
            on=_Again, attempts=source.limits.attempts, timeout=None, wait_initial=0.05, wait_max=5
        ):
            with attempt:
                last = await _once(source, examples, features, key, limiter)
                if last.kind == "unknown":
                    uncertain = last.error
                if last.kind == "refused" or (last.kind == "unknown" and source.idempotent):
                    raise _Again(last.error)
    except _Again:
        pass
    if uncertain and last.kind in ("refused", "failed"):
        # An earlier try may have been billed; a later refusal does not undo that.
        return Outcome("unknown", error=uncertain)
    return last


async def _once(
    source: CallableSource, examples: Sequence[Any], features: Sequence[str], key: str, limiter: Any
) -> Outcome:
    import anyio

    refusals: tuple[type[Exception], ...] = (NotBilled, *source.not_billed)
    if limiter is not None:
        await limiter.acquire()
    source.note_call()
    begun: list[bool] = []
    try:
        with anyio.fail_after(source.limits.timeout):
            answer = await _invoke(source, list(examples), list(features), key, begun)
            return Outcome("answer", answer)
    except refusals as error:
        return Outcome("refused", error=type(error).__name__)
    except PurchaseFailed as error:
        return Outcome("failed", error=type(error).__name__)
    except Exception as error:
        # What went wrong before the function was entered (no thread to be had) billed nothing.
        return Outcome("unknown" if begun else "refused", error=type(error).__name__)


async def _invoke(
    source: CallableSource, examples: list[Any], features: list[str], key: str, begun: list[bool]
) -> Any:
    import anyio

    keyed = {"idempotency_key": key} if source.idempotent else {}

    def fn(ids: list[Any], names: list[str]) -> Any:
        begun.append(True)
        return source.fn(ids, names, **keyed)

    if inspect.iscoroutinefunction(source.fn) or inspect.iscoroutinefunction(
        getattr(source.fn, "__call__", None)  # noqa: B004
    ):
        return await fn(examples, features)
    answer = await anyio.to_thread.run_sync(fn, examples, features, abandon_on_cancel=True)
    if inspect.isawaitable(answer):
        return await answer
    return answer
