"""Average precision against USD per patient, with a laboratory's own rates: laboratory.py.

PhysioNet 2012: who died in hospital, from the first 48 hours in intensive care; 8,000 patients,
41 features, of which 23 need blood. Prices are the Clinical Laboratory Fee Schedule of 2025, with
panels that overlap and a draw that is paid once per patient (../shared/data or $THRIFTY_DATA). Two
thirds of the patients are for learning.

Seed 0 is the split that the way of predicting was chosen on; --first 1 leaves it out.

Learning: every method may spend so much per learning patient; its model is then judged on the last
third, whatever it asks there. Predicting: every method learns from all cells, and then pays per
patient of the last third. Cells are priced as the cheapest set of orders that fills them; a method
that does not look at prices gets that price for all its cells of a patient at once, which flatters
it.

- ours: thrifty.Models with these prices; when predicting, an order of tests by gain per marginal
  price, a model per prefix, and stopping
- price-blind: the same where every cell costs one
- LightGBM on everything; LightGBM with CEGB, its penalties the marginal prices of single tests
- pilot + best columns: all cells of a class-balanced pilot, then the k columns with the largest
  gain (LightGBM) on as many patients as the money buys, free columns always; the best k in
  hindsight

With --save a run that was stopped goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import lightgbm
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

import thrifty
from studies.asking import ask_in_order, prefixes_of
from studies.kept import append, measured_at
from studies.measure import table
from thrifty.models.asking.order import find_order
from thrifty.models.table import Table

DATA = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[2] / "shared" / "data"))
LEARN_USD = (1, 2, 5, 10, 20)
PREDICT_USD = (0, 2, 5, 10, 20, 35, 60)


class Patients:
    """The set, one split of it, and what cells cost."""

    def __init__(self, seed: int) -> None:
        z = np.load(DATA / "physionet_icu.npz", allow_pickle=False)
        self.names = z["feature_names"].tolist()
        self.prices = thrifty.PriceList.from_json(DATA / "physionet_icu_prices.json")
        self.tariff = self.prices.tariff(self.names)
        X, y = z["X"].astype(float), z["Y"][:, 0].astype(int)
        rows = np.random.default_rng(seed).permutation(len(X))
        cut = 2 * len(X) // 3
        self.X, self.y = X[rows[:cut]], y[rows[:cut]]
        self.X_test, self.y_test = X[rows[cut:]], y[rows[cut:]]
        self.seed = seed
        self.free = np.flatnonzero(self.tariff.marginal == 0)

    def price(self, owned, wanted) -> float:
        return self.tariff.priced(frozenset(owned), frozenset(wanted))[0] / 1e6

    def source(self, X) -> thrifty.Source:
        return thrifty.Source.from_array(X, feature_names=self.names, allow_missing=True)

    def ap(self, p) -> float:
        return float(average_precision_score(self.y_test, p))


def boosted(X, y, seed, **more):
    return lightgbm.LGBMClassifier(
        n_estimators=150,
        learning_rate=0.05,
        num_leaves=15,
        min_child_samples=10,
        verbose=-1,
        random_state=seed,
        n_jobs=1,
        **more,
    ).fit(X, y)


# -- learning ---------------------------------------------------------------------------------


def learn_ours(data: Patients, usd: float) -> dict[str, object]:
    life = thrifty.Lifetime(thrifty.Models(), prices=data.prices)
    learned = life.learn("died", data.source(data.X), data.y, spend=usd * len(data.X))
    found = life.predict("died", data.source(data.X_test))
    return {
        "method": "ours",
        "USD": learned.receipt.cost / len(data.X),
        "AP": data.ap(found.probabilities[:, 1]),
        "asks for": found.receipt.cost / len(data.X_test),
    }


def learn_blind(data: Patients, cells: float) -> dict[str, object]:
    """The same learner where a cell costs one; what it bought, at the laboratory's prices."""
    bought = np.zeros(data.X.shape, dtype=bool)

    class Watched(thrifty.Source):
        def __init__(self, inner) -> None:
            super().__init__(inner.n_examples, inner.feature_names, inner.boolean)
            self.named, self.inner = inner.named, inner

        def read(self, rows, features):
            bought[np.ix_(rows, features)] = True
            return self.inner.read(rows, features)

    life = thrifty.Lifetime(thrifty.Models())
    life.learn("died", Watched(data.source(data.X)), data.y, spend=cells * len(data.X))
    found = life.predict("died", data.source(data.X_test))
    cost = np.array([data.price((), np.flatnonzero(row).tolist()) for row in bought])
    asked = [data.names.index(n) for n, k in found.receipt.per_feature.items() if k]
    ap = data.ap(found.probabilities[:, 1])
    return {
        "method": "price-blind",
        "USD": float(cost.mean()),
        "AP": ap,
        "asks for": data.price([], asked),
    }


def learn_pilot(data: Patients, usd: float) -> dict[str, object]:
    """The best of several sizes and numbers of columns, in hindsight."""
    best: dict[str, object] | None = None
    whole = data.price([], range(len(data.names)))
    rng = np.random.default_rng(data.seed)
    rows = rng.permutation(len(data.X))
    for share in (0.3, 0.6):
        n = int(share * usd * len(data.X) / whole)
        half = [rows[data.y[rows] == c][: n // 2] for c in (0, 1)]
        pilot = np.concatenate(half)
        if len(half[1]) < 10:
            continue
        gain = boosted(data.X[pilot], data.y[pilot], data.seed).booster_.feature_importance("gain")
        ranked = [f for f in np.argsort(-gain).tolist() if f not in set(data.free)]
        left = usd * len(data.X) - len(pilot) * whole
        for k in (1, 2, 4, 8):
            columns = [*data.free.tolist(), *ranked[:k]]
            more = int(left / data.price([], columns))
            chosen = np.concatenate([pilot, np.setdiff1d(rows, pilot, assume_unique=True)[:more]])
            X = np.full(data.X.shape, np.nan)
            X[:, data.free] = data.X[:, data.free]
            X[np.ix_(chosen, columns)] = data.X[np.ix_(chosen, columns)]
            model = boosted(X[chosen][:, columns], data.y[chosen], data.seed)
            ap = data.ap(model.predict_proba(data.X_test[:, columns])[:, 1])
            row = {
                "method": "pilot + best columns",
                "USD": usd,
                "AP": ap,
                "asks for": data.price([], columns),
            }
            best = row if best is None or ap > best["AP"] else best
    return best or {
        "method": "pilot + best columns",
        "USD": usd,
        "AP": float("nan"),
        "asks for": float("nan"),
    }


def learn_free(data: Patients) -> dict[str, object]:
    """LightGBM on what costs nothing, the floor."""
    model = boosted(data.X[:, data.free], data.y, data.seed)
    return {
        "method": "LightGBM, free columns",
        "USD": 0.0,
        "asks for": 0.0,
        "AP": data.ap(model.predict_proba(data.X_test[:, data.free])[:, 1]),
    }


# -- predicting -------------------------------------------------------------------------------


def predict_in_order(data: Patients, blind: bool) -> list[dict[str, object]]:
    every = np.arange(data.X.shape[1])
    n = len(data.X)
    bought = Table(every, np.arange(n), data.X, np.ones(data.X.shape, bool), np.ones(n), data.y)
    orders = [d.members for d in data.tariff.draws if d.kind == "order"]

    def equal(owned, wanted):
        return float(len(set(wanted) - set(owned)))

    order = find_order(
        bought, equal if blind else data.price, () if blind else orders, seed=data.seed
    )
    estimator = HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.1, max_leaf_nodes=8, random_state=data.seed
    )
    prefixes = prefixes_of(bought, order, data.price, estimator, seed=data.seed)
    out = []
    for usd in PREDICT_USD:
        found = ask_in_order(
            prefixes,
            lambda r, f: data.X_test[np.ix_(r, f)],
            len(data.X_test),
            spend=usd * len(data.X_test),
        )
        out.append(
            {
                "method": "price-blind" if blind else "ours",
                "may": usd,
                "USD": float(found.cost.mean()),
                "AP": data.ap(found.probabilities[:, 1]),
            }
        )
    return out


CEGB = (0.0, 1.0, 5.0, 20.0, 50.0, 100.0, 300.0)


def predict_cegb(data: Patients, tradeoffs=CEGB) -> list[dict[str, object]]:
    penalty = (data.tariff.marginal / data.tariff.marginal.max()).tolist()
    out = []
    for tradeoff in tradeoffs:
        more = {"cegb_tradeoff": tradeoff, "cegb_penalty_feature_coupled": penalty}
        model = boosted(data.X, data.y, data.seed, **(more if tradeoff else {}))
        used = np.flatnonzero(model.booster_.feature_importance("split") > 0).tolist()
        out.append(
            {
                "method": "LightGBM, CEGB" if tradeoff else "LightGBM, everything",
                "may": tradeoff,
                "USD": data.price([], used),
                "AP": data.ap(model.predict_proba(data.X_test)[:, 1]),
            }
        )
    out[0]["USD"] = data.price([], range(len(data.names)))
    return out


def predict_columns(data: Patients) -> list[dict[str, object]]:
    gain = boosted(data.X, data.y, data.seed).booster_.feature_importance("gain")
    ranked = [f for f in np.argsort(-gain).tolist() if f not in set(data.free)]
    out = []
    for k in (0, 1, 2, 4, 8, 12, 16):
        columns = [*data.free.tolist(), *ranked[:k]]
        model = boosted(data.X[:, columns], data.y, data.seed)
        out.append(
            {
                "method": "best columns",
                "may": k,
                "USD": data.price([], columns),
                "AP": data.ap(model.predict_proba(data.X_test[:, columns])[:, 1]),
            }
        )
    return out


def measure(seed: int, parts: list[str], blind: bool) -> dict[str, list[dict[str, object]]]:
    data = Patients(seed)
    found: dict[str, list[dict[str, object]]] = {}
    if "learning" in parts:
        rows = [learn_free(data), predict_cegb(data, (0.0,))[0]]
        for usd in LEARN_USD:
            rows += [learn_ours(data, usd), learn_pilot(data, usd)]
        found["learning"] = rows
        if blind:
            rows += [learn_blind(data, cells) for cells in (0.3, 1, 3, 8)]
    if "predicting" in parts:
        found["predicting"] = [
            *predict_in_order(data, False),
            *(predict_in_order(data, True) if blind else ()),
            *predict_cegb(data),
            *predict_columns(data),
        ]
    return {
        part: [append(None, {**row, "seed": seed}) for row in rows] for part, rows in found.items()
    }


def mean_rows(runs: list[dict[str, object]]) -> list[dict[str, object]]:
    """Means over the seeds, setting by setting of each method: every seed has the same ones."""
    seeds = sorted({r["seed"] for r in runs})
    out = []
    for method in dict.fromkeys(r["method"] for r in runs):
        mine = [[r for r in runs if r["seed"] == s and r["method"] == method] for s in seeds]
        out += [_mean_row(same) for same in zip(*filter(None, mine))]
    return out


def _mean_row(same: Sequence[dict[str, object]]) -> dict[str, object]:
    row: dict[str, object] = {"method": same[0]["method"]}
    for key, digits in (("USD", 2), ("AP", 4), ("asks for", 2)):
        values = [r[key] for r in same if key in r]
        if values:
            name = "USD per patient" if key == "USD" else key
            row[name] = round(float(np.mean(values)), digits)
    return row


def draw(both: dict[str, list[dict[str, object]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, table_of_axes = plt.subplots(
        1,
        len(both),
        figsize=(5 * len(both) + 1, 4),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    axes = table_of_axes[0]
    for axis, (name, runs) in zip(axes, both.items()):
        rows = mean_rows(runs)
        for method in dict.fromkeys(r["method"] for r in rows):
            at = sorted((r["USD per patient"], r["AP"]) for r in rows if r["method"] == method)
            style = "o" if len(at) == 1 else "o-"
            axis.plot(
                *zip(*at), style, label=method, markersize=4, linewidth=2 if method == "ours" else 1
            )
        axis.set_xscale("symlog", linthresh=1)
        axis.set_xlabel("USD per patient")
        axis.set_title(name)
        axis.legend(fontsize=8, frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("average precision")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the seed to begin with")
    parser.add_argument("--parts", nargs="*", default=["learning", "predicting"])
    parser.add_argument("--not-blind", action="store_true", help="leave out the price-blind")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--from", dest="saved", type=Path, nargs="*", help="draw what was saved")
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    start = time.process_time()
    both: dict[str, list[dict[str, object]]] = {}
    for path in given.saved or ():
        both.update(json.loads(path.read_text()))
    if given.save and given.save.exists():
        both = json.loads(given.save.read_text())
    with threadpool_limits(1):
        for seed in range(given.first, 0 if given.saved else given.seeds):
            lacking = [p for p in given.parts if all(r["seed"] != seed for r in both.get(p, ()))]
            for name, rows in measure(seed, lacking, not given.not_blind).items():
                both.setdefault(name, []).extend(rows)
            if given.save:
                given.save.write_text(json.dumps(both, indent=0))
    for name, rows in both.items():
        print(f"\n{name}, {measured_at(rows)}\n{table(mean_rows(rows))}")
    print(f"\n{time.process_time() - start:.0f} s of CPU time")
    if given.picture:
        draw(both, given.picture)
