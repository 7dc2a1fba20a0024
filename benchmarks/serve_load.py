"""Fifty clients at once: python benchmarks/serve_load.py [--clients 50] [--seconds 60].

Starts ``thrifty serve`` on the loopback address over a store of physionet_icu at a laboratory's
prices. Each client interviews one patient after another: ask, tell what is asked, until there is an
answer; every third patient was answered before. Prints answers a second, latency, errors, and
whether the money in the store is what the answers said: nothing twice.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import pandas

import thrifty
from serving_rows import patients

TASK = "death"


class Client(threading.Thread):
    """Interviews patients until the time is over."""

    def __init__(self, number: int, address: str, X, names, until: float) -> None:
        super().__init__(daemon=True)
        self.number, self.address, self.X, self.names, self.until = number, address, X, names, until
        self.taken: list[float] = []
        self.costs: list[float] = []
        self.errors: list[str] = []

    def run(self) -> None:
        """Ask, tell, ask, ..."""
        k = 0
        while time.perf_counter() < self.until:
            row = (self.number * 40 + k - (k % 3 == 2)) % len(self.X)
            k += 1
            try:
                self._interview(row)
            except Exception as error:
                self.errors.append(repr(error))

    def _interview(self, row: int) -> None:
        truth = dict(zip(self.names, self.X[row].tolist(), strict=True))
        told: dict[str, float | None] = {}
        while True:
            sent = {"task": TASK, "id": f"patient {row}", "values": told}
            began = time.perf_counter()
            said = post(self.address + "row", sent)
            self.taken.append((time.perf_counter() - began) * 1000)
            if "next" not in said:
                self.costs.append(said["cost"])
                return
            for name in said["next"]:
                told[name] = None if truth[name] != truth[name] else truth[name]


def post(address: str, sent: object) -> dict:
    """JSON there and back, with the token."""
    request = urllib.request.Request(
        address,
        json.dumps(sent).encode(),
        {"Authorization": f"Bearer {os.environ['THRIFTY_TOKEN']}"},
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def main() -> None:
    """Learn, serve, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
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
            address = server.stdout.readline().strip()
            post(address + "row", {"task": TASK})  # what is made once
            until = time.perf_counter() + given.seconds
            clients = [Client(i, address, X[2000:], names, until) for i in range(given.clients)]
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
        print(
            f"latency: median {statistics.median(taken):.0f} ms, "
            f"95 % {taken[int(0.95 * len(taken))]:.0f} ms, most {taken[-1]:.0f} ms"
        )
        print(f"errors: {len(errors)} {errors[:2] or ''}")
        print(f"answers said {sum(costs):,.2f}, the store says {spent:,.2f} spent")


if __name__ == "__main__":
    main()
