"""Another version of Thrifty against this one: same bills, models and answers, ratios of CPU time.

    git worktree add ../before <commit>
    python benchmarks/old_and_new.py ../before [--rounds 5] [--only trees | default]

Each version runs in its own process on the workloads of ``race.py``, ``scratch.py`` and
``ledger.py`` (``--only trees``) and on the streams of ``golden.py`` (``--only default``), whose
hashes it prints; the two alternate, so that both meet the same weather. CPU time of one thread,
the best of the rounds for each task; a ratio above 1 means that this version is slower. It ends
with 1 where a stream differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]


def families(thrifty: Any) -> dict[str, Callable[[int], Any]]:
    """The learners that both versions have, in the words of each."""
    if hasattr(thrifty, "Race"):
        return {
            "all": lambda d: thrifty.Trees(max_depth=d, learner=thrifty.trees.Paper()),
            "race": lambda d: thrifty.Trees(max_depth=d, learner=thrifty.trees.Race()),
            "gini": lambda d: thrifty.Trees(max_depth=d, learner=thrifty.trees.Race(gain="gini")),
            "tested": lambda d: thrifty.Trees(
                max_depth=d, learner=thrifty.trees.Tested(0.01, 0.95)
            ),
        }
    return {
        "all": lambda d: thrifty.Trees(max_depth=d),
        "race": lambda d: thrifty.Trees(max_depth=d, compare="race"),
        "gini": lambda d: thrifty.Trees(max_depth=d, compare="race", gain="gini"),
        "tested": lambda d: thrifty.Trees(
            max_depth=d, compare="race", accept=thrifty.trees.Tested(0.01, 0.95)
        ),
    }


def lifetimes(thrifty: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    """Streams of race.py, and of ledger.py in memory: (workload, family, tasks)."""
    make = families(thrifty)
    boolean = list(thrifty.streams.trees(16, 120, 6, 3000, 5, random_state=100))
    reals = list(thrifty.streams.reals(8, 60, 4, 1500, 4, random_state=100))
    large = list(thrifty.streams.trees(8, 120, 6, 20_000, 5, random_state=101))
    lists = list(thrifty.streams.lists(10, 100, 4, 2000, 6, random_state=100))
    for name in ("all", "race", "gini"):
        yield f"race.py, Boolean, {name}", make[name](5), boolean
    for name in ("all", "race"):
        yield f"race.py, real, {name}", make[name](4), reals
    yield "race.py, tested, 20,000 rows", make["tested"](5), large
    yield "lists", thrifty.Lists(max_depth=20), lists
    tasks = list(thrifty.streams.trees(60, 1000, 5, 2000, 5, random_state=1))
    yield "ledger.py, in memory", make["all"](5), tasks


def scratch(thrifty: Any) -> dict[str, Any]:
    """scratch.py: a stand-alone tree on 2,000 x 5,000 Boolean and 2,000 x 200 real values."""
    import numpy as np

    fit = getattr(thrifty, "TreeClassifier", None) or thrifty.ThriftyTreeClassifier
    rng = np.random.default_rng(0)
    bits = (rng.random((2000, 5000)) < 0.5).astype(np.uint8)
    reals = rng.random((2000, 200))
    out: dict[str, Any] = {}
    for name, X in (("Boolean", bits), ("real", reals)):
        y = (X[:, 3] > 0.5) ^ (rng.random(2000) < 0.05)
        model = fit(max_depth=8).fit(X, y)
        took = []
        for _ in range(3):
            start = time.process_time()
            model = fit(max_depth=8).fit(X, y)
            took.append(time.process_time() - start)
        out[f"scratch.py, {name}"] = {
            "seconds": [min(took)],
            "bills": [],
            "models": [str(model.tree_.to_dict())],
        }
    return out


def paid(thrifty: Any) -> dict[str, Any]:
    """ledger.py: a million cells from a provider into an SQLite file."""
    import numpy as np

    S, N = 2000, 500
    values = np.random.default_rng(0).random((S, N)) < 0.5
    names = [f"x{j}" for j in range(N)]
    column = {name: j for j, name in enumerate(names)}
    with tempfile.TemporaryDirectory() as folder:
        source = thrifty.Source.from_callable(
            lambda ids, asked: values[np.ix_(ids, [column[n] for n in asked])],
            examples=range(S),
            features=names,
            prices=1,
            max_cells=100_000,
            name="bits",
        )
        life = thrifty.Lifetime(families(thrifty)["all"](3), store=Path(folder) / "ledger.db")
        start = time.process_time()
        learned = life.learn("all", source, values[:, 0])
        seconds = time.process_time() - start
    bill = [learned.receipt.cells, learned.receipt.cost]
    return {"ledger.py, SQLite": {"seconds": [seconds], "bills": [bill], "models": []}}


def trees(thrifty: Any) -> dict[str, Any]:
    """Trees and lists on the workloads that both versions have."""
    # 0.2 takes rows in an order of the lifetime's own; with seed 0 it is that of 0.1.
    same_rows = {"random_state": 0} if hasattr(thrifty, "Race") else {}
    out = {**scratch(thrifty), **paid(thrifty)}
    for name, family, tasks in lifetimes(thrifty):
        for _ in range(2):  # the first time compiles
            life = thrifty.Lifetime(family, **same_rows)
            took, bills, models = [], [], []
            for task in tasks:
                start = time.process_time()
                learned = life.learn(task.name, task.X, task.y)
                took.append(time.process_time() - start)
                receipt = learned.receipt
                bills.append([learned.route, receipt.cells, receipt.max_cells_per_example])
                models.append(str(learned.model.tree_.to_dict()))
        out[name] = {"seconds": took, "bills": bills, "models": models}
    return out


def worker(only: str) -> None:
    """Run what is asked for with whichever Thrifty is on the path; JSON on stdout."""
    import thrifty

    out = trees(thrifty) if only != "default" else {}
    if only != "trees":
        from golden import run_streams

        out |= run_streams()
    print(json.dumps(out))


def run(checkout: Path, only: str) -> dict[str, Any]:
    """One round of a version, in a process of its own."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, __file__, "--worker", "--only", only]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{checkout}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table_of(rounds: list[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[str, bool]:
    """The rows of results/old_and_new.md, and whether all the streams' hashes are equal."""
    lines = [
        "| workload | cells | bills | models | answers | old, ms | new, ms | ratio |",
        "|---|---|---|---|---|---:|---:|---:|",
    ]
    equal = True
    for name, old in rounds[0][0].items():
        new = rounds[0][1][name]
        seconds = [
            sum(map(min, zip(*(one[side][name]["seconds"] for one in rounds)))) for side in (0, 1)
        ]
        said = []
        for what in ("cells", "bills", "models", "answers"):
            same = old.get(what) == new.get(what)
            equal &= same or "answers" not in old
            hashed = f" `{new[what]}`" if isinstance(new.get(what), str) else ""
            said.append("" if what not in old else f"{'same' if same else 'DIFFER'}{hashed}")
        old_s, new_s = seconds
        times = f"{old_s * 1e3:.1f} | {new_s * 1e3:.1f} | {new_s / old_s:.2f}"
        lines.append(f"| {name} | {' | '.join(said)} | {times} |")
    return "\n".join(lines), equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", nargs="?", type=Path, help="a checkout of the other version")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["trees", "default", "all"], default="all")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.only)
        return
    if arguments.old is None:
        parser.error("give the checkout of the other version")
    old, only = arguments.old.resolve(), arguments.only
    table, equal = table_of([(run(old, only), run(HERE, only)) for _ in range(arguments.rounds)])
    print(table)
    raise SystemExit(not equal)


if __name__ == "__main__":
    main()
