"""1,000 questions to a local server that takes 50 ms, 50 at once: python benchmarks/busy_bank.py.

The server is a process of its own. Printed are the seconds beyond the first call, the processor
time of a call on our side, and the same where answers come at once from a function in memory: of
each the best of five runs, since a busy machine only adds.
"""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection

import numpy as np

import thrifty
from thrifty.testing.provider import LocalChatServer

CALLS, AT_ONCE, SECONDS, RUNS = 1000, 50, 0.05, 5
RATES = thrifty.Rates("0.15 USD", "0.60 USD")


def serve(line: Connection) -> None:
    with LocalChatServer(lambda text, question: "yes", delay=lambda text: SECONDS) as server:
        line.send(server.url)
        line.recv()


async def at_once(prompt: str) -> str:
    return '{"1": "yes"}'


def asked(ask: object) -> tuple[float, float]:
    """Seconds, and milliseconds of processor time for a call."""
    texts = [f"message {i} about something" for i in range(CALLS + 1)]
    bank = thrifty.Source.from_questions(
        texts, ["Is it wet?"], ask=ask, rates=RATES, concurrency=AT_ONCE
    )
    cells = thrifty.protocol.Cells(bank, ledger=thrifty.Lifetime().ledger, task="busy")
    cells.get([0], [0])
    begun, used = time.perf_counter(), time.process_time()
    cells.get(np.arange(1, CALLS + 1), [0])
    return time.perf_counter() - begun, 1000 * (time.process_time() - used) / CALLS


def best(ask: object) -> tuple[float, float]:
    """The least seconds, and the least milliseconds, of several runs."""
    runs = [asked(ask) for _ in range(RUNS)]
    return min(seconds for seconds, _ in runs), min(each for _, each in runs)


def main() -> None:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(there,))
    process.start()
    server = thrifty.ChatServer("local", rates=RATES, base_url=here.recv(), key_from=None)
    seconds, each = best(server)
    here.send("over")
    process.join()
    print(
        f"server: {seconds:.1f} s for {CALLS} calls ({CALLS * SECONDS / AT_ONCE:.1f} s are the "
        f"server's), {each:.2f} ms of processor time a call"
    )
    seconds, each = best(at_once)
    print(f"in memory: {seconds:.1f} s, {each:.2f} ms of processor time a call (.8 are the aim)")


if __name__ == "__main__":
    main()
