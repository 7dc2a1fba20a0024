"""The same labels at four sites: python benchmarks/sites.py [--set tmc2007_500] [--labels 8].

The rows of a set are split at random into four sites; each label is met at each of them, site after
site, on 1,500 rows of its own, for 5 % of the cells. One lifetime with ``Models(recurring=True)``,
one without. Printed for each site: how many models were accepted as they are and how many of those
belong to another label (wrong), mean cells a task and mean average precision, with and without.
Nothing recurs at the first site: its line says what asking costs where it is of no use.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

import thrifty
from studies.real_sets import load, site_tasks
from thrifty.benchmarks.measure import table


def stream(name: str, labels: int, seed: int, recurring: bool) -> list[dict]:
    """What each task cost and reached, and whose model it took."""
    life = thrifty.Lifetime(thrifty.Models(recurring=recurring, random_state=seed))
    learned_by: dict[bytes, str] = {}
    found = []
    for site, task in site_tasks(load(name), seed, most=labels):
        label = task.name.split("-", 1)[1]
        done = life.learn(task.name, task.X.astype(bool), task.y, spend="5 %")
        key = done.model.table_.features.tobytes() + done.model.table_.rows.tobytes()
        owner = learned_by.setdefault(key, label)
        p = done.model.predict_proba(task.X_test.astype(bool))[:, 1]
        found.append(
            {
                "site": site + 1,
                "reused": done.route == "reused",
                "wrong": done.route == "reused" and owner != label,
                "cells": done.receipt.cells,
                "ap": average_precision_score(task.y_test, p),
            }
        )
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--set", default="tmc2007_500")
    arguments.add_argument("--labels", type=int, default=8)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        both = [stream(given.set, given.labels, given.seed, on) for on in (True, False)]
    rows = []
    for site in sorted({one["site"] for one in both[0]}):
        ours, plain = ([one for one in some if one["site"] == site] for some in both)
        rows.append(
            {
                "site": site,
                "reused": f"{sum(one['reused'] for one in ours)} of {len(ours)}",
                "wrong": sum(one["wrong"] for one in ours),
                "cells with": f"{np.mean([one['cells'] for one in ours]):,.0f}",
                "without": f"{np.mean([one['cells'] for one in plain]):,.0f}",
                "precision with": f"{np.mean([one['ap'] for one in ours]):.3f}",
                "precision without": f"{np.mean([one['ap'] for one in plain]):.3f}",
            }
        )
    print(table(rows))


if __name__ == "__main__":
    main()
