"""What the ledger costs: its share of a run in memory, and ten million cells from a provider.

python benchmarks/ledger.py            both figures
python benchmarks/ledger.py --json     the same for a program
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

import thrifty
from thrifty.cells.ledger.meter import Meter
from thrifty.cells.ledger.receipt import Receipt

LIMIT_SHARE, LIMIT_SECONDS, LIMIT_BYTES = 0.05, 20.0, 10_000_000


def share_in_memory(n_tasks: int = 200, repeats: int = 25) -> dict[str, float]:
    """Part of a lifetime over arrays that counting takes: the same run with and without it.

    Without means that nothing is counted at all: charging does nothing and receipts are empty. The
    two kinds of run alternate; CPU time, the best of several for each task. (The best of whole runs
    scatters between 0 and 9 %: a tenth of a second is never undisturbed from end to end.)
    """
    tasks = [
        (t.name, t.X, t.y) for t in thrifty.streams.trees(n_tasks, 1000, 5, 2000, 5, random_state=1)
    ]
    empty = Receipt(0, 0.0, 0, 0, 0, 0, 0)

    def run() -> list[float]:
        life = thrifty.Lifetime(thrifty.Trees(max_depth=5, learner=thrifty.trees.Paper()))
        took = []
        for name, X, y in tasks:
            start = time.process_time()
            life.learn(name, X, y)
            took.append(time.process_time() - start)
        return took

    run()  # compile
    counted: list[list[float]] = []
    uncounted: list[list[float]] = []
    for _ in range(repeats):
        counted.append(run())
        with (
            mock.patch.object(Meter, "charge", lambda *_: None),
            mock.patch.object(Meter, "charge_everything", lambda *_: None),
            mock.patch.object(thrifty.protocol.Cells, "receipt", lambda *_: empty),
        ):
            uncounted.append(run())
    with_it, without = (float(np.min(runs, axis=0).sum()) for runs in (counted, uncounted))
    return {
        "seconds_counted": with_it,
        "seconds_uncounted": without,
        "share": 1 - without / with_it,
    }


def ten_million(n_examples: int = 10_000, n_features: int = 1_000, cells_a_call: int = 100_000):
    """Ten million Boolean cells bought from a callable into an SQLite file, then compacted."""
    values = np.random.default_rng(0).random((n_examples, n_features)) < 0.5
    values[:, 0] = np.arange(n_examples) % 2
    in_provider = 0.0
    columns = {f"x{j}": j for j in range(n_features)}

    def ask(ids, names):
        nonlocal in_provider
        start = time.perf_counter()
        answer = values[np.ix_(ids, [columns[n] for n in names])]
        in_provider += time.perf_counter() - start
        return answer

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        source = thrifty.Source.from_callable(
            ask,
            name="provider",
            examples=range(n_examples),
            features=list(columns),
            prices=1,
            max_cells=cells_a_call,
        )
        family = thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper())
        life = thrifty.Lifetime(
            family, store=path, budget=thrifty.Budget(total=n_examples * n_features)
        )
        start = time.perf_counter()
        learned = life.learn("all", source, values[:, 0])
        seconds = time.perf_counter() - start
        assert learned.receipt.cells == n_examples * n_features
        before = os.path.getsize(path)
        start = time.perf_counter()
        again = thrifty.Lifetime.open(path)
        cells = thrifty.protocol.Cells(source, ledger=again.ledger)
        assert (cells.get(np.arange(n_examples), np.arange(n_features)) == values).all()
        reopen = time.perf_counter() - start
        assert again.balance().spent == n_examples * n_features
    return {
        "cells": n_examples * n_features,
        "calls": -(-n_examples * n_features // cells_a_call),
        "seconds": seconds,
        "seconds_in_provider": in_provider,
        "bytes": before,
        "seconds_to_reopen_and_read_all": reopen,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    as_json = arguments.parse_args().json
    memory, stored = share_in_memory(), ten_million()
    figures = {
        "in_memory": memory,
        "ten_million": stored,
        "kept": {
            "share": memory["share"] < LIMIT_SHARE,
            "seconds": stored["seconds"] < LIMIT_SECONDS,
            "bytes": stored["bytes"] < LIMIT_BYTES,
        },
    }
    if as_json:
        print(json.dumps(figures))
        return
    print(
        f"in memory: the ledger takes {memory['share']:.1%} of a run "
        f"({memory['seconds_counted']:.3f} s counted, {memory['seconds_uncounted']:.3f} s not "
        f"counted at all); the limit is {LIMIT_SHARE:.0%}"
    )
    print(
        f"{stored['cells']:,} cells in {stored['calls']} calls: {stored['seconds']:.1f} s "
        f"(limit {LIMIT_SECONDS:.0f} s), {stored['bytes'] / 1e6:.1f} MB "
        f"(limit {LIMIT_BYTES / 1e6:.0f} MB); reopened and read in "
        f"{stored['seconds_to_reopen_and_read_all']:.1f} s"
    )


if __name__ == "__main__":
    main()
