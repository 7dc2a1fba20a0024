"""Quality against cells on real data: every row of the table, the memory, the sites, the money."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, balanced_accuracy_score

import thrifty
from studies.real_learners import (
    DEPTH,
    FeaturesSeen,
    PilotLearner,
    PlainRace,
    Scratch,
    leaf_probabilities,
)
from studies.real_sets import RealTask, SetTable, label_tasks, site_tasks
from thrifty.array_types import Floats
from thrifty.cells import Cells
from thrifty.typing import Fields

__all__ = ["compare_learners", "measure_memory", "measure_money", "measure_sites"]

Result = Fields  # of one task: probabilities on the test rows, share of cells, ...


def _score(task: RealTask, p: Floats) -> tuple[float, float]:
    """Average precision, and balanced accuracy with the class share as the threshold."""
    said = p > task.y.mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        balanced = balanced_accuracy_score(task.y_test, said)
    return float(average_precision_score(task.y_test, p)), float(balanced)


def verified() -> thrifty.Lifetime:
    """The learner under test, with its defaults."""
    family = thrifty.Trees(max_depth=DEPTH, learner=thrifty.Verified())
    return thrifty.Lifetime(family, random_state=0)


def learn_verified(life: thrifty.Lifetime, task: RealTask) -> Result:
    """Learn one task in a lifetime; cells, money, CPU time and the model's probabilities."""
    start = time.process_time()
    learned = life.learn(task.name, task.X, task.y)
    seconds = time.process_time() - start
    receipt = learned.receipt
    return {
        "p": learned.model.predict_proba(task.X_test)[:, 1],
        "share": receipt.cells / task.X.size,
        "cost": receipt.cost,
        "route": learned.route,
        "seconds": seconds,
        "plain": _plain(learned, task),
    }


def _plain(learned: thrifty.Learned, task: RealTask) -> Floats:
    """The same tree with leaves smoothed like the others' (m = 5 towards the class share)."""
    if learned.route == "reused":
        return np.asarray(learned.model.predict_proba(task.X_test)[:, 1])

    def counted(at: Fields, rows: NDArray[np.int64]) -> Any:
        if "feature" not in at:
            return (len(rows), int(task.y[rows].sum()))
        true = task.X[rows, at["feature"]] == 1
        return (at["feature"], counted(at["false"], rows[~true]), counted(at["true"], rows[true]))

    tree = counted(learned.model.tree_.to_dict(), np.arange(len(task.y)))
    return leaf_probabilities(tree, task.X_test, float(task.y.mean()))


def _sklearn_tree(task: RealTask) -> Result:
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(criterion="entropy", max_depth=DEPTH, random_state=0)
    return {"p": model.fit(task.X, task.y).predict_proba(task.X_test)[:, 1], "share": 1.0}


def _lightgbm(task: RealTask) -> Result:
    """Penalties of cost-efficient boosting on every feature; training still reads every cell."""
    import lightgbm

    settings = {
        "objective": "binary",
        "max_depth": DEPTH,
        "num_leaves": 2**DEPTH,
        "verbose": -1,
        "min_data_in_leaf": 5,
        "num_threads": 1,
        "seed": 0,
        "cegb_tradeoff": 1.0,
        "cegb_penalty_split": 1e-4,
        "cegb_penalty_feature_coupled": [1.0] * task.X.shape[1],
    }
    data = lightgbm.Dataset(task.X.astype(np.float64), task.y)
    model = lightgbm.train(settings, data, num_boost_round=20)
    return {"p": np.asarray(model.predict(task.X_test.astype(np.float64))), "share": 1.0}


def _paper(life: thrifty.Lifetime, task: RealTask) -> Result:
    """Algorithm 1 as it stands. Contradictory rows have no consistent tree: everything bought."""
    try:
        learned = life.learn(task.name, task.X, task.y)
    except thrifty.errors.ThriftyError:
        return {"p": np.full(len(task.y_test), task.y.mean()), "share": 1.0, "route": "none"}
    p = learned.model.predict_proba(task.X_test)[:, 1]
    return {"p": p, "share": learned.receipt.cells / task.X.size, "route": learned.route}


def _learners() -> dict[str, Callable[[RealTask], Result]]:
    """A fresh one of each for a pass over the tasks of a set."""

    def grown(learner: Any) -> Callable[[RealTask], Result]:
        def learn(task: RealTask) -> Result:
            tree = learner.learn(task)
            p = leaf_probabilities(tree.tree, task.X_test, float(task.y.mean()))
            return {"p": p, "share": tree.share}

        return learn

    with_memory = verified()
    paper = thrifty.Lifetime(thrifty.Trees(300, thrifty.Paper()))
    return {
        "scratch": grown(Scratch()),
        "scikit-learn tree": _sklearn_tree,
        "LightGBM, CEGB": _lightgbm,
        "features seen": grown(FeaturesSeen()),
        "pilot of 100, best 20": grown(PilotLearner()),
        "the paper's protocol": lambda task: _paper(paper, task),
        "race": grown(PlainRace(memory=False)),
        "race, known features first": grown(PlainRace(memory=True)),
        "Verified, no memory": lambda task: learn_verified(verified(), task),
        "Verified": lambda task: learn_verified(with_memory, task),
    }


def _mean(key: str, of: list[Result]) -> float:
    return float(np.mean([one[key] for one in of]))


def _summary(name: str, row: str, results: list[Result], reference: list[Result]) -> Result:
    mean = _mean
    out = {
        "set": name,
        "learner": row,
        "AP ratio": mean("ap", results) / mean("ap", reference),
        "balanced ratio": mean("balanced", results) / mean("balanced", reference),
        "cells %": 100 * mean("share", results),
    }
    if "plain ap" in results[0]:
        out["AP ratio, same smoothing"] = mean("plain ap", results) / mean("ap", reference)
        out["seconds, most"] = max(one["seconds"] for one in results)
        out["reused"] = sum(one["route"] == "reused" for one in results)
        out["tasks"] = len(results)
    return out


def compare_learners(
    table: SetTable, *, seeds: int, most: int | None, only: Iterable[str] = ()
) -> tuple[list[Result], list[Result]]:
    """A row per learner, and the raw results of the two Verified ones for the curves."""
    wanted = set(only)
    results: dict[str, list[Result]] = {}
    curve: list[Result] = []
    for seed in range(seeds):
        learners = _learners()
        for i, task in enumerate(label_tasks(table, seed, most=most)):
            for row, learn in learners.items():
                if wanted and row not in wanted and row != "scratch":
                    continue
                got = learn(task)
                got["ap"], got["balanced"] = _score(task, got.pop("p"))
                if "plain" in got:
                    got["plain ap"] = _score(task, got.pop("plain"))[0]
                    curve.append({"set": table.name, "seed": seed, "task": i, "learner": row,
                                  "share": got["share"], "ap": got["ap"]})  # fmt: skip
                if row != "features seen" or i >= 8:
                    results.setdefault(row, []).append({**got, "task": (seed, i)})
    out = []
    for row, of in results.items():
        at = {one["task"] for one in of}
        reference = [one for one in results["scratch"] if one["task"] in at]
        out.append(_summary(table.name, row, of, reference))
    return out, curve


def measure_memory(rows: list[Result]) -> list[Result]:
    """Per set: the bill with memory against the bill without, and both qualities."""
    out = []
    by = {(row["set"], row["learner"]): row for row in rows}
    for name in dict.fromkeys(row["set"] for row in rows):
        with_, without = by[name, "Verified"], by[name, "Verified, no memory"]
        out.append(
            {
                "set": name,
                "cells % without": without["cells %"],
                "cells % with": with_["cells %"],
                "saved %": 100 * (1 - with_["cells %"] / without["cells %"]),
                "AP ratio without": without["AP ratio"],
                "AP ratio with": with_["AP ratio"],
            }
        )
    return out


def measure_sites(table: SetTable, *, seeds: int, most: int | None) -> list[Result]:
    """Each label met again at each of four sites: bill and quality by site."""
    got: dict[tuple[str, int], list[Result]] = {}
    for seed in range(seeds):
        life = verified()
        for site, task in site_tasks(table, seed, most=most):
            for row, at in (("with", life), ("without", verified())):
                one = learn_verified(at, task)
                one["ap"] = _score(task, one["p"])[0]
                got.setdefault((row, site), []).append(one)
    out = []
    for site in sorted({site for _, site in got}):
        with_, without = got["with", site], got["without", site]
        mean = _mean
        out.append(
            {
                "set": table.name,
                "site": site + 1,
                "tasks": len(with_),
                "reused": sum(one["route"] == "reused" for one in with_),
                "cells % with": 100 * mean("share", with_),
                "cells % without": 100 * mean("share", without),
                "bill with / without": mean("share", with_) / mean("share", without),
                "AP with / without": mean("ap", with_) / mean("ap", without),
            }
        )
    return out


def price_list(table: SetTable) -> thrifty.PriceList:
    """A test is paid once per example; all bits cut from it are then free there."""
    assert table.test_of_feature is not None and table.test_cost is not None
    parent: dict[int, str] = {}
    prices, derived = {}, {}
    for f, test in enumerate(table.test_of_feature.tolist()):
        if test in parent:
            derived[f"x{f}"] = parent[test]
        else:
            parent[test] = f"x{f}"
            prices[f"x{f}"] = float(table.test_cost[test])
    return thrifty.PriceList(per_feature=prices, derived=derived)


def measure_money(table: SetTable, *, seeds: int, most: int | None) -> list[Result]:
    """Dollars per example: minding prices, not minding them, and buying every test."""
    from thrifty.trees.verified.experience import Experience

    prices = price_list(table)
    assert table.test_cost is not None and table.test_of_feature is not None
    family = thrifty.Trees(max_depth=DEPTH, learner=thrifty.Verified())
    out = []
    for row in ("price-aware", "price-blind"):
        bills, quality, whole = [], [], []
        for seed in range(seeds):
            representation: Any = Experience()
            for task in label_tasks(table, seed, most=most):
                frame = _named(task.X)
                cells = Cells(frame, prices)
                if row == "price-blind":
                    cells = _Blind(frame, prices)
                labels = family.read_labels(task.y)
                attempt, representation = thrifty.protocol.learn_task(
                    family, representation, cells, labels
                )
                model = family.estimator(attempt.model, labels, cells.feature_names)
                bills.append(cells.receipt().cost / len(task.y))
                quality.append(_score(task, model.predict_proba(task.X_test)[:, 1])[0])
                reference = Scratch().learn(task)
                p = leaf_probabilities(reference.tree, task.X_test, float(task.y.mean()))
                whole.append(_score(task, p)[0])
        every = float(table.test_cost[np.unique(table.test_of_feature)].sum())
        out.append(
            {
                "set": table.name,
                "learner": row,
                "dollars per example": float(np.mean(bills)),
                "share of every test": f"{100 * np.mean(bills) / every:.1f} %",
                "AP ratio": float(np.mean(quality) / np.mean(whole)),
            }
        )
    return out


class _Blind(Cells):
    """The door charges as always; the learner sees equal prices and no fees."""

    def __init__(self, source: Any, prices: thrifty.PriceList) -> None:
        super().__init__(source, prices)
        self.prices = np.ones(self.n_features)

    @property
    def fees(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        return ()


def _named(X: NDArray[np.uint8]) -> Any:
    import pandas

    return pandas.DataFrame(X.astype(bool), columns=[f"x{f}" for f in range(X.shape[1])])
