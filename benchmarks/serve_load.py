"""Fifty clients at once: python benchmarks/serve_load.py [--clients 50] [--seconds 60].

Starts ``thrifty serve`` on the loopback address over a store of physionet_icu at a laboratory's
prices. Each client interviews one patient after another over a connection that it keeps: ask, tell
what is asked, until there is an answer; every third patient was answered before. With ``--sure`` it
is asked step by step until it is so sure. Prints answers a second, latency, errors, what the server
took of the processor, and whether the money in the store is what the answers said: nothing twice.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import pandas

import thrifty
from serving_rows import patients

TASK = "death"


class Client(threading.Thread):
    """Interviews patients until the time is over."""

    def __init__(self, number: int, port: int, X, names, until: float, sure: float | None) -> None:
        super().__init__(daemon=True)
        self.number, self.X, self.names, self.until, self.sure = number, X, names, until, sure
        self.server = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.taken: list[float] = []
        self.costs: list[float] = []
        self.errors: list[str] = []

    def run(self) -> None:
        """Ask, tell, ask, ..."""
        k = 0
        while time.perf_counter() < self.until:
            # patients of its own; those beyond the table are others with the same values
            row = self.number * 100_000 + k - (k % 3 == 2)
            k += 1
            try:
                self._interview(row)
            except Exception as error:
                self.errors.append(repr(error))

    def _interview(self, row: int) -> None:
        truth = dict(zip(self.names, self.X[row % len(self.X)].tolist(), strict=True))
        told: dict[str, float | None] = {}
        while True:
            sent = {"task": TASK, "id": f"patient {row}", "values": told, "sure": self.sure}
            began = time.perf_counter()
            said = post(self.server, sent)
            self.taken.append((time.perf_counter() - began) * 1000)
            if "next" not in said:
                self.costs.append(said["cost"])
                return
            for name in said["next"]:
                told[name] = None if truth[name] != truth[name] else truth[name]


def post(server: http.client.HTTPConnection, sent: object) -> dict:
    """JSON there and back, with the token."""
    head = {"Authorization": f"Bearer {os.environ['THRIFTY_TOKEN']}"}
    server.request("POST", "/row", json.dumps(sent), head)
    reply = server.getresponse()
    said = json.load(reply)
    if reply.status != 200:
        raise RuntimeError(said["error"])
    return said


def main() -> None:
    """Learn, serve, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sure", type=float, help="stop once so sure; else all is asked for")
    given = parser.parse_args()
    os.environ["THRIFTY_TOKEN"] = "of-the-load-test"
    X, y, names, prices = patients()
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/icu.db"
        life = thrifty.Lifetime(store=store, prices=prices, random_state=0)
        life.learn(TASK, pandas.DataFrame(X[:2000], columns=names), y[:2000], spend="10 %")
        before = life.balance().spent
        server = subprocess.Popen(
            [sys.executable, "-c", "from thrifty.cli import main; main()", "serve", store,
             "--port", "0"],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])
            first = http.client.HTTPConnection("127.0.0.1", port)
            post(first, {"task": TASK, "sure": given.sure})  # what is made once
            until = time.perf_counter() + given.seconds
            clients = [
                Client(i, port, X[2000:], names, until, given.sure) for i in range(given.clients)
            ]
            for client in clients:
                client.start()
            for client in clients:
                client.join(given.seconds + 300)
        finally:
            server.terminate()
            server.wait(30)
        taken = sorted(t for client in clients for t in client.taken)
        costs = [cost for client in clients for cost in client.costs]
        errors = [error for client in clients for error in client.errors]
        spent = thrifty.Lifetime.open(store).balance().spent - before
        print(
            f"{given.clients} clients, {given.seconds:g} s: {len(costs)} answers, "
            f"{len(taken)} requests, {len(taken) / given.seconds:.0f} a second"
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        worked = 1000 * (used.ru_utime + used.ru_stime) / len(taken)
        print(f"the server took {worked:.1f} ms of CPU a request, its start included")
        print(
            f"latency: median {statistics.median(taken):.0f} ms, "
            f"95 % {taken[int(0.95 * len(taken))]:.0f} ms, most {taken[-1]:.0f} ms"
        )
        print(f"errors: {len(errors)} {errors[:2] or ''}")
        print(f"answers said {sum(costs):,.2f}, the store says {spent:,.2f} spent")


if __name__ == "__main__":
    main()
