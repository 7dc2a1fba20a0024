"""Ours, an earlier checkout and plain baselines, paired: python benchmarks/paired.py WHAT ...

    python benchmarks/paired.py lists --against ../old/src --sets aslib_sat12_indu --seeds 0 1 2
    python benchmarks/paired.py single --against ../old/src --distilled distilled.py --labels 3

Every way learns the same task: the same rows, labels, seed and bill. WHAT is

- ``lists``: one label at the prices of a list; beside it, by hand, the k cheapest orders on as many
  rows as the money buys with extra trees, the best k in hindsight (all of them: whole rows).
  "emotions 3" is the third of ten random lists on emotions: groups of 3 to 15 features, prices over
  two decades.
- ``single``: one label at unit prices; whole rows with a blend, as they come and balanced
- ``stream``: the same, one lifetime for all tasks of a seed, so that there is a memory
- ``together``: up to 12 labels at once on the same rows; extra trees on whole rows once for all
- ``time``: CPU seconds of learning one label of made tables at 10 %, the least of the splits
- ``small``: all cells of 100 or 150 rows, log loss (less is better); CatBoost beside it

``--against``: the src folder of another checkout, or none. ``--distilled``: a file with
``learn(X, y, bill, memory, numbers, seed)``. Printed are the means over tasks and, of each other
way, ours less theirs with its standard error over tasks. Lines are kept and never measured twice;
``--fresh`` forgets those of ours.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.metrics import average_precision_score, log_loss

import baselines
from price_lists import BY_HAND, labels_of, orders_of, price_of_all, priced
from studies.kept import begin
from studies.measure import machine
from studies.model_tasks import model_tasks
from together import Shared

HERE = Path(__file__).resolve().parent
KEPT = HERE / "results" / "paired.jsonl"
LISTS = (
    *("aslib_sat12_indu", "ann_thyroid", "heart_cost", "thyroid0387_cost", "nhanes"),
    *("physionet_icu", *(f"{s} {i}" for i in range(1, 11) for s in ("emotions", "support2"))),
)
SINGLE = (
    *("nhanes", "physionet_icu", "spam", "thyroid0387_cost", "yeast", "emotions", "cal500"),
    *("support2", "tmc2007_500", "rcv1s1_500", "slashdot", "bibtex", "medical", "tox21_maccs"),
)
TOGETHER = (
    *("tmc2007_500", "bibtex", "medical", "slashdot", "digits", "yeast", "emotions"),
    *("nhanes", "support2"),
)
SMALL = (
    *("breast_cancer", "diabetes", "digits", "wine", "heart_cost", "spam", "vote", "ckd"),
    *("emotions", "yeast", "support2", "mushroom"),
)
TIMED = ("1000 x 50 numbers", "10000 x 200 numbers", "2000 x 500 Booleans")
DEFAULTS = {
    "time": TIMED,
    "lists": LISTS,
    "single": SINGLE,
    "stream": ("nhanes", "landmine", "tmc2007_500", "rcv1s1_500"),
    "together": TOGETHER,
    "small": SMALL,
}


@dataclass(eq=False)
class Task:
    """What is learned: rows, labels (a matrix for several at once), test rows, a list of prices."""

    key: str
    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray
    stream: str | None = None
    list: object = None

    def precision(self, said: np.ndarray) -> float:
        said = said.reshape(len(said), -1)
        truth = self.Y_test.reshape(len(said), -1)
        return float(np.mean([average_precision_score(t, p) for t, p in zip(truth.T, said.T)]))


def tasks_of_lists(name: str, n_labels: int, seed: int) -> Iterator[Task]:
    data = priced(name)
    for label in labels_of(data)[:n_labels]:
        y = data.Y[:, label]
        rows = np.random.default_rng(seed).permutation(np.flatnonzero(y >= 0))
        cut = min(1500, int(0.6 * len(rows)))
        if name == "ann_thyroid":  # the usual first part is for learning
            cut = 3772
        train, test = rows[:cut], rows[cut:][:4000]
        yield Task(str(label), data.X[train], y[train], data.X[test], y[test], list=data)


def tasks_of_one(name: str, n_labels: int, seed: int) -> Iterator[Task]:
    for task in model_tasks(name, n_labels, seed):
        yield Task(str(task.label), task.X, task.y, task.X_test[:4000], task.y_test[:4000])


def tasks_of_stream(name: str, n_labels: int, seed: int) -> Iterator[Task]:
    for task in tasks_of_one(name, n_labels, seed):
        task.stream = f"{name} {seed}"
        yield task


def tasks_together(name: str, n_labels: int, seed: int) -> Iterator[Task]:
    split = Shared(name, seed, n_labels)
    yield Task("all", split.X, split.Y, split.X_test, split.Y_test)


def tasks_of_small(name: str, n_labels: int, seed: int) -> Iterator[Task]:
    loaders = {
        "breast_cancer": load_breast_cancer,
        "diabetes": load_diabetes,
        "digits": load_digits,
        "wine": load_wine,
    }
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
        y = (y > np.quantile(y, 0.7)) if name == "diabetes" else y == {"digits": 8}.get(name, 1)
    else:
        from studies.data import data_folder

        with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as z:
            X, Y = z["X_raw"] if "X_raw" in z.files else z["X"], z["Y"].reshape(len(z["Y"]), -1)
        j = int(np.argmax([min((c == 1).sum(), (c == 0).sum()) for c in Y.T]))
        X, y = X[Y[:, j] >= 0], Y[Y[:, j] >= 0, j] == 1
    rows = np.random.default_rng(seed).permutation(len(X))
    y = y.astype(np.int64)
    for n in (100, 150):
        n = min(n, int(0.6 * len(X)))
        yield Task(f"{n}", X[rows[:n]], y[rows[:n]], X[rows[n:]][:3000], y[rows[n:]][:3000])


def tasks_of_time(name: str, n_labels: int, seed: int) -> Iterator[Task]:
    rows, _, width, kind = name.split()
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * int(rows), int(width)))
    if kind == "Booleans":
        X = (X > 1.3).astype(np.uint8)
    w = rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.2)
    y = (X @ w + rng.normal(size=len(X)) > np.quantile(X @ w, 0.7)).astype(np.int64)
    half = int(rows)
    yield Task("made", X[:half], y[:half], X[half:], y[half:])


MAKERS = {
    "time": tasks_of_time,
    "lists": tasks_of_lists,
    "single": tasks_of_one,
    "stream": tasks_of_stream,
    "together": tasks_together,
    "small": tasks_of_small,
}


class Installation:
    """A worker that learns with the Thrifty of one src folder."""

    def __init__(self, src: Path) -> None:
        self.src, self.process = src, None
        self.folder = tempfile.TemporaryDirectory()

    def __call__(self, task: Task, bill: float, seed: int) -> tuple[np.ndarray, float]:
        file, out = (Path(self.folder.name) / name for name in ("task.npz", "said.npy"))
        X, X_test = (x.astype(bool) if x.dtype == np.uint8 else x for x in (task.X, task.X_test))
        np.savez(file, X=X, Y=task.Y, X_test=X_test)
        told = {
            "file": str(file),
            "out": str(out),
            "task": task.key,
            "spend": f"{100 * bill:g} %",
            "seed": seed,
            "stream": None if task.stream is None else f"{task.stream} {bill}",
        }
        if task.list is not None:
            told |= {"names": task.list.names, "kinds": task.list.kinds}
            told["prices"] = written(task.list.prices)
        if self.process is None:
            path = os.pathsep.join([str(self.src), str(HERE)])
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "studies" / "paired_worker.py")],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the installation at {self.src} ended; see its error above.")
        return np.load(out), float(json.loads(answer)["seconds"])


def written(prices: object) -> dict[str, object]:
    return {
        "per_feature": dict(prices.per_feature or {}),
        "orders": {name: [price, list(of)] for name, (price, of) in prices.orders.items()},
        "fees": {name: [price, list(of)] for name, (price, of) in prices.fees.items()},
    }


class Distilled:
    """A program in one file, by cells."""

    def __init__(self, path: Path) -> None:
        spec = importlib.util.spec_from_file_location("distilled", path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.stream, self.memory = None, None

    def __call__(self, task: Task, bill: float, seed: int) -> tuple[np.ndarray, float]:
        stream = (task.stream, bill)
        if task.stream is None or stream != self.stream:
            self.stream, self.memory = stream, self.module.Memory()
        start = time.process_time()
        model = self.module.learn(task.X, task.Y, bill * task.X.size, self.memory, seed=seed)
        seconds = time.process_time() - start
        said = model.predict(task.X_test)
        return 1 / (1 + np.exp(-said)), seconds


def plain_ways(what: str, task: Task, bill: float, seed: int) -> dict[str, float]:
    """Baselines of one task: the mean of what they reach."""
    if what == "time":
        return {}
    if what == "small":
        said = baselines.catboost(task.X, task.Y, seed)(task.X_test)
        return {"CatBoost": loss(task, said)}
    if what == "together":
        from studies.model_ways import extra_trees

        n = int(bill * len(task.X))
        forest = extra_trees(task.X[:n], task.Y[:n])
        votes = forest.predict_proba(task.X_test.astype(np.float32))
        said = [v[:, 1] if v.shape[1] > 1 else np.zeros(len(v)) for v in votes]
        return {"whole rows once, extra trees": task.precision(np.column_stack(said))}
    if what == "lists":
        data = task.list
        money = bill * len(task.Y) * price_of_all(data)
        hand = baselines.cheapest_orders(task.X, task.Y, money, *orders_of(data), seed, ks=BY_HAND)
        ways = {f"by hand, {k} orders": predict for k, predict in hand.items()}
    else:
        ways = {
            f"whole rows {how}, blend": baselines.whole_rows_blend(
                task.X, task.Y, bill * len(task.Y), 1, seed, balanced=how == "balanced"
            )
            for how in ("as they come", "balanced")
        }
    return {way: task.precision(predict(task.X_test)) for way, predict in ways.items()}


def loss(task: Task, said: np.ndarray) -> float:
    return float(log_loss(task.Y_test, np.clip(said.ravel(), 1e-4, 1 - 1e-4), labels=[0, 1]))


def measured(what: str, way: object, task: Task, bill: float, seed: int) -> dict[str, float]:
    said, seconds = way(task, bill, seed)
    return {"value": (loss if what == "small" else Task.precision)(task, said), "seconds": seconds}


def shown(lines: list[dict[str, object]], what: str) -> Iterator[dict[str, object]]:
    """A row for each set and bill, and one for all sets: means, and leads of ours."""
    found: dict[tuple[str, float], dict[tuple[int, str], dict[str, float]]] = {}
    for line in lines:
        if line["study"] == what:
            cell = found.setdefault((line["set"], line["bill"]), {})
            cell.setdefault((line["seed"], line["i"]), {}).update(line["found"])
    means: dict[float, list[dict[str, float]]] = {}
    for (name, bill), tasks in sorted(found.items()):
        some = [task for task in tasks.values() if "ours" in task]
        row, each = {"set": name, "bill": f"{bill:.0%}", "tasks": len(some)}, {}
        for way in grouped(some):
            if "seconds" in way[0]:
                continue
            name_of, values = best_of(way, some, least=what == "small")
            row[name_of.split(",")[0] if len(way) > 1 else name_of] = said_of(values, some)
            each[name_of.split(",")[0] if len(way) > 1 else name_of] = values
        for key in ("ours", "before", "distilled"):
            took = [task[f"{key} seconds"] for task in some if f"{key} seconds" in task]
            if took:
                row[f"{key}, s"] = round(float((np.min if what == "time" else np.mean)(took)), 3)
        means.setdefault(bill, []).append({key: float(np.mean(v)) for key, v in each.items()})
        yield row
    for bill, sets in sorted(means.items()):
        some = [{"ours": one["ours"]} for one in sets]
        row = {"set": "mean of sets", "bill": f"{bill:.0%}", "tasks": len(sets)}
        for key in sets[0]:
            if all(key in one for one in sets):
                row[key] = said_of([one[key] for one in sets], some)
        yield row


def grouped(tasks: list[dict[str, float]]) -> Iterator[list[str]]:
    """Ways, those that differ in a choice made in hindsight together."""
    ways = [way for way in tasks[0] if all(way in task for task in tasks)] if tasks else []
    hand = [way for way in ways if way.startswith("by hand")]
    for way in ways:
        if way not in hand:
            yield [way]
    if hand:
        yield hand


def best_of(
    ways: list[str], tasks: list[dict[str, float]], *, least: bool
) -> tuple[str, list[float]]:
    times = -1 if least else 1
    best = max(ways, key=lambda way: times * np.mean([task[way] for task in tasks]))
    return best, [task[best] for task in tasks]


def said_of(values: list[float], tasks: list[dict[str, float]]) -> str:
    leads = np.array([task["ours"] for task in tasks]) - np.array(values)
    if not leads.any():
        return f"{np.mean(values):.3f}"
    error = leads.std(ddof=1) / np.sqrt(len(leads)) if len(leads) > 1 else np.nan
    return f"{np.mean(values):.3f} {leads.mean():+.3f} ({error:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=tuple(MAKERS))
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--labels", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--bills", type=float, nargs="*", default=[0.05, 0.1, 0.2])
    parser.add_argument("--against", type=Path, help="src folder of another checkout")
    parser.add_argument("--distilled", type=Path)
    parser.add_argument("--no-plain", action="store_true", help="no baselines")
    parser.add_argument("--fresh", action="store_true", help="measure ours again")
    given, kept = begin(parser, KEPT)
    what, sets = given.what, given.sets or DEFAULTS[given.what]
    if what in ("small", "time"):
        given.bills = [1.0 if what == "small" else 0.1]
    ways: dict[str, object] = {"ours": Installation(HERE.parent / "src")}
    if given.against:
        ways["before"] = Installation(given.against)
    if given.distilled and what in ("single", "stream", "together"):
        ways["distilled"] = Distilled(given.distilled)
    if given.fresh:
        kept.forget(lambda line: line["what"].endswith(" ours") and line["set"] in sets)
    for name in sets:
        for seed in given.seeds:
            tasks = list(MAKERS[what](name, 12 if what == "together" else given.labels, seed))
            for bill in given.bills:
                for task in tasks:
                    key = {"set": name, "seed": seed, "i": task.key, "bill": bill}
                    for way, learn in ways.items():
                        if not kept.has(**key, what=f"{what} {way}"):
                            got = measured(what, learn, task, bill, seed)
                            found = {way: got["value"], f"{way} seconds": got["seconds"]}
                            kept.add(
                                {**key, "what": f"{what} {way}", "study": what, "found": found}
                            )
                    if not given.no_plain and not kept.has(**key, what=f"{what} plain"):
                        found = plain_ways(what, task, bill, seed)
                        kept.add({**key, "what": f"{what} plain", "study": what, "found": found})
    print(machine())
    for row in shown([line for line in kept.lines if line["set"] in sets], what):
        print("; ".join(f"{head} {value}" for head, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
