"""How often a model's held-out figure lies in the 95 % interval it reports of itself.

    python benchmarks/intervals.py [--sets ...] [--labels 5] [--bills .05 .1] [--numbers]

Each label is a task with 1,500 rows at most, in one lifetime for each set and bill, without ids.
``model.quality_`` is from the rows that were bought; the figure it is held against is that of all
test rows of the set. Printed: models with a figure; those whose held-out average precision and AUC
lie inside, and those that do when the test rows' own error, by draws of them, is added to the
interval's: of a rare label a set may have thirty test rows; and the mean of reported less held-out
figures.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

import thrifty
from regression import load
from studies.measure import table
from studies.model_tasks import model_tasks

NUMBERS = ("friedman60", "friedman110", "linear100", "diabetes", "friedman210")
SETS = ("tmc2007_500", "slashdot", "nhanes", "jester_items", "yeast")


def judged(name: str, labels: int, bill: float, seed: int, estimator) -> list[tuple]:
    """(reported, low, high, held out, its error) of average precision and AUC, for each model."""
    life, found = thrifty.Lifetime(thrifty.Models(estimator, random_state=seed)), []
    for task in model_tasks(name, labels, seed):
        X = task.X.astype(bool) if task.X.dtype == np.uint8 else task.X
        model = life.learn(f"{task.label}", X, task.y, spend=f"{100 * bill:g} %").model
        said = model.quality_
        if said is None or said.positive is None:
            found.append(None)
            continue
        rare = (task.y_test == said.positive).astype(int)
        p = model.predict_proba(task.X_test)[:, said.positive]
        both = (said.average_precision, average_precision_score), (said.auc, roc_auc_score)
        found.append(
            tuple(
                (one.value, one.low, one.high, float(score(rare, p)), own_error(rare, p, score))
                for one, score in both
            )
        )
    return found


def own_error(rare: np.ndarray, p: np.ndarray, score, draws: int = 60) -> float:
    """The standard error of a figure of these test rows, in log-odds."""
    rng = np.random.default_rng(0)
    parts = [np.flatnonzero(rare == c) for c in (0, 1)]
    some = [np.concatenate([rng.choice(part, len(part)) for part in parts]) for _ in range(draws)]
    return float(log_odds([score(rare[i], p[i]) for i in some]).std())


def log_odds(figures) -> np.ndarray:
    at = np.clip(figures, 1e-3, 1 - 1e-3)
    return np.log(at / (1 - at))


def inside(value: float, low: float, high: float, at: float, error: float) -> bool:
    """Whether both agree, each with its own error."""
    value, low, high, at = log_odds([value, low, high, at])
    half = high - value if at > value else value - low
    return bool(abs(at - value) <= np.hypot(half, 1.96 * error))


def line(name: str, bill: float, found: list[tuple]) -> dict[str, str]:
    said = [one for one in found if one is not None]
    strictly = [sum(low <= at <= high for _, low, high, at, _ in which) for which in zip(*said)]
    allowed = [sum(inside(*one) for one in which) for which in zip(*said)]
    above = [np.mean([value - at for value, _, _, at, _ in which]) for which in zip(*said)]
    row = {
        "set": name,
        "bill %": f"{100 * bill:g}",
        "models": f"{len(found)}",
        "measured": f"{len(said)}",
    }
    for i, kind in enumerate(("precision", "AUC")):
        row[f"{kind} inside"] = f"{strictly[i]}" if said else ""
        row[f"{kind}, both errors"] = f"{allowed[i]}" if said else ""
        row[f"{kind} too high by"] = f"{above[i]:+.3f}" if said else ""
    return row


def judged_numbers(name: str, bill: float, seeds: int) -> list[tuple]:
    """(reported, low, high, held out) R squared of models of numbers, for each model."""
    found = []
    for seed in range(10, 10 + seeds):  # not those that benchmarks/regression.py shows
        X, y, cut = load(name, seed)
        spend = bill * X[:cut].size
        model = thrifty.ModelRegressor(spend=spend, random_state=seed).fit(X[:cut], y[:cut])
        said, at = model.quality_, r2_score(y[cut:], model.predict(X[cut:]))
        found += [] if said is None else [(said.r2.value, said.r2.low, said.r2.high, at)]
    return found


def numbers(bills: tuple[float, ...], seeds: int = 6) -> None:
    """How often R squared lies inside, on the sets of benchmarks/regression.py."""
    for name in NUMBERS:
        found = [one for bill in bills for one in judged_numbers(name, bill, seeds)]
        inside = sum(low <= at <= high for _, low, high, at in found)
        off = np.mean([value - at for value, _, _, at in found])
        print(f"{name}: R squared inside {inside} of {len(found)}, too high by {off:+.3f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sets", nargs="+", default=SETS)
    arguments.add_argument("--labels", type=int, default=5)
    arguments.add_argument("--bills", type=float, nargs="+", default=(0.05, 0.1))
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--own", action="store_true", help="a user's estimator: logistic")
    arguments.add_argument("--numbers", action="store_true", help="models of numbers instead")
    given = arguments.parse_args()
    if given.numbers:
        warnings.simplefilter("ignore")
        return numbers(tuple(given.bills))
    estimator = LogisticRegression(max_iter=1000) if given.own else None
    warnings.simplefilter("ignore")
    rows, every = [], []
    with threadpool_limits(1):
        for name in given.sets:
            for bill in given.bills:
                found = judged(name, given.labels, bill, given.seed, estimator)
                rows.append(line(name, bill, found))
                every += found
                print(rows[-1], flush=True)
    print(table([*rows, line("all", 0.0, every)]))


if __name__ == "__main__":
    main()
