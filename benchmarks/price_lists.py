"""Real price lists, a task at a time: python benchmarks/price_lists.py [--sets ...] [--seeds ...].

A task is learned for a share of what all cells of its rows cost at the prices of a list; nothing is
free, nothing is owned, no memory. Beside it what a user of today would pick for the same money:
whole rows, as they come and with half of them rare, with LightGBM, extra trees and a blend of extra
trees, logistic regression and CatBoost; and by hand the k cheapest orders on as many rows as the
money buys, with extra trees. The best of them all in hindsight, k included.

- physionet_icu: laboratory values alone, with overlapping panels and a fee for the draw; and with
  what is read at the bedside for a dollar each
- nhanes: panels and the draw as well; questions of the interview cost half a dollar each
- support2: each laboratory value by itself, all else half a dollar
- thyroid0387_cost, heart_cost, ann_thyroid: Turney's prices of tests, raw values
- aslib_sat12_indu: mean CPU seconds of the steps that compute features; a step is an order that
  fills all of its features, preprocessing a fee once a row
- "emotions 3", "support2 3": the third of ten random lists, groups of 3 to 15 features at prices
  over two decades

Average precision, mean over labels and seeds; leads with 90 % intervals over them. 1,500 rows (60 %
at most) to learn from. Lines are kept, so that a run can be broken off and go on. Nothing was
chosen on these lists; what was tried is in docs/research/dead_ends.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

import baselines
import thrifty
from free_columns import LABORATORY, Priced, read
from studies.data import data_folder
from studies.kept import Kept, begin, interval
from studies.measure import machine, table
from studies.model_ways import boosted, extra_trees

SETS = (
    "physionet_icu, laboratory",
    "physionet_icu",
    "nhanes",
    "support2",
    "thyroid0387_cost",
    "heart_cost",
)
BILLS = (0.05, 0.1, 0.2)
#: so many of the cheapest orders are tried by hand
BY_HAND = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 90, 128)
KEPT = Path(__file__).resolve().parent / "results" / "price_lists.jsonl"
#: at most so many labels of a set, those with the most rows of the rarer class
LABELS = 5
#: what a laboratory of support2 asks: rates of the same schedule as of physionet_icu
RATES = dict(zip(LABORATORY, (2.54, 26.07, 4.95, 5.02, 5.12, 4.81, 11.0, 3.93, 3.95)))


def priced(name: str) -> Priced:
    """A set with a price for everything."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}: no data folder; set THRIFTY_DATA to it.")
    if name.endswith("_cost"):
        with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
            names = [str(test) for test in z["test_names"]]
            prices = thrifty.PriceList(dict(zip(names, z["test_cost"].astype(float).tolist())))
            return Priced(z["X_raw"].astype(float), z["Y"].astype(np.int64), names, prices)
    if name == "ann_thyroid":
        return _thyroid(folder)
    if name == "aslib_sat12_indu":
        return _solvers(folder)
    base, _, number = name.rpartition(" ")
    if number.isdigit():
        return _random_list(folder, base, int(number))
    name, _, laboratory = name.partition(", ")
    data = read(name)
    if name == "support2":
        prices = thrifty.PriceList({f: RATES.get(f, 0.5) for f in data.names})
        return Priced(data.X, data.Y, data.names, prices)
    listed = json.loads((folder / f"{name}_prices.json").read_text())
    single, panels = listed["single"], listed["panels"].items()
    paid = set(single) | {f for _, panel in panels for f in panel["fills"]}
    other = 1.0 if name == "physionet_icu" else 0.5
    per_feature = {} if laboratory else {f: other for f in data.names if f not in paid}
    at = [i for i, f in enumerate(data.names) if not laboratory or f in paid]
    prices = thrifty.PriceList(
        per_feature | {f: max(line["price"], 0.5) for f, line in single.items()},
        orders={panel: (line["price"], line["fills"]) for panel, line in panels},
        fees={"draw": (listed["draw"]["fee"], listed["draw"]["once_for_any_of"])},
    )
    return Priced(data.X[:, at], data.Y, [data.names[i] for i in at], prices, data.kinds)


def _thyroid(folder: Path) -> Priced:
    """Each class against the others, at the price of a test alone; FTI needs two of them."""
    groups = json.loads((folder / "turney_groups.json").read_text())["ann_thyroid"]
    with np.load(folder / "ann_thyroid.npz", allow_pickle=False) as z:
        names, classes = [str(f) for f in z["feature_names"]], z["y"].astype(int)
        Y = np.column_stack([classes == c for c in (1, 2)]).astype(np.int64)
        single = {f: float(price) for f, price in groups["single"].items()}
        single |= {f: sum(single[g] for g in of) for f, of in groups["derived"].items()}
        prices = thrifty.PriceList(single)
        return Priced(z["X"].astype(float), Y, names, prices)


def _solvers(folder: Path) -> Priced:
    with np.load(folder / "aslib_sat12_indu.npz", allow_pickle=False) as z:
        names = [str(f) for f in z["feature_names"]]
        mean = dict(zip(z["step_names"].tolist(), np.nanmean(z["seconds"], axis=0).tolist()))
        of = {step: [f for f, s in zip(names, z["step_of_feature"]) if s == step] for step in mean}
        orders = {step: (0.0 if step == "Pre" else mean[step], of[step]) for step in mean}
        prices = thrifty.PriceList({}, orders=orders, fees={"preprocessing": (mean["Pre"], names)})
        return Priced(z["X"].astype(float), z["Y"].astype(np.int64), names, prices)


def _random_list(folder: Path, name: str, number: int) -> Priced:
    """Features at random in groups of 3 to 15, each an order at 1 to 100."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
        X, Y = z["X"].astype(float), z["Y"].astype(np.int64)
        names = [str(f) for f in z["feature_names"]]
    rng = np.random.default_rng(100 + number)
    left, orders = rng.permutation(names).tolist(), {}
    while left:
        n = int(rng.integers(3, 16))
        group, left = left[:n], left[n:]
        orders[f"group {len(orders)}"] = (float(10 ** rng.uniform(0, 2)), group)
    return Priced(X, Y, names, thrifty.PriceList({}, orders=orders))


def price_of_all(data: Priced) -> float:
    """What all cells of a row cost."""
    return float(data.prices.price(data.names))


def labels_of(data: Priced) -> list[int]:
    rare = np.array([min((y == 1).sum(), (y == 0).sum()) for y in data.Y.T])
    return sorted(np.argsort(-rare, kind="stable")[:LABELS].tolist())


def one(data: Priced, label: int, seed: int, bill: float) -> dict[str, float]:
    y = data.Y[:, label]
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(y >= 0))
    cut = min(1500, int(0.6 * len(rows)))
    train, test = rows[:cut], rows[cut:][:4000]
    life = thrifty.Lifetime(
        thrifty.Models(random_state=seed), prices=data.prices, random_state=seed
    )
    learned = life.learn("label", data.source(train), y[train], spend=f"{100 * bill:g} %")
    found = {"ours": _ap(learned.model, data.X[test], y[test])}
    few, many = (train[y[train] == k] for k in np.argsort(np.bincount(y[train])))
    n, half = int(bill * cut), min(len(few), int(bill * cut) // 2)
    ways = {"as they come": train[:n], "balanced": np.concatenate([few[:half], many[: n - half]])}
    for how, at in ways.items():
        told = min(np.bincount(y[at], minlength=2)) >= 2
        for model, fit in (("LightGBM", boosted), ("extra trees", extra_trees)):
            fitted = fit(data.X[at], y[at]) if told else None
            found[f"{how}, {model}"] = (
                float(y[test].mean()) if fitted is None else _ap(fitted, data.X[test], y[test])
            )
    return found


def baselines_of(data: Priced, label: int, seed: int, bill: float) -> dict[str, float]:
    """The blend on whole rows, and the cheapest orders by hand; on the rows of ``one``."""
    y = data.Y[:, label]
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(y >= 0))
    cut = min(1500, int(0.6 * len(rows)))
    train, test = rows[:cut], rows[cut:][:4000]
    X, t = data.X[train], y[train]
    ways = {
        f"{how}, blend": baselines.whole_rows_blend(
            X, t, bill * cut, 1, seed, balanced=how == "balanced"
        )
        for how in ("as they come", "balanced")
    }
    money = bill * cut * price_of_all(data)
    for balanced in (False, True):
        by_hand = baselines.cheapest_orders(
            X, t, money, *orders_of(data), seed, balanced=balanced, ks=BY_HAND
        )
        how = "balanced" if balanced else "as they come"
        ways |= {f"{how}, {k} orders by hand": predict for k, predict in by_hand.items()}
    return {
        way: float(average_precision_score(y[test], predict(data.X[test])))
        for way, predict in ways.items()
    }


def orders_of(data: Priced) -> tuple[dict[str, tuple], dict[str, tuple]]:
    """Single features and panels as orders, and fees, with the numbers of their columns."""
    at = {name: i for i, name in enumerate(data.names)}

    def columns(group: dict[str, tuple]) -> dict[str, tuple]:
        listed = {n: (float(p), [at[f] for f in of if f in at]) for n, (p, of) in group.items()}
        return {name: line for name, line in listed.items() if line[1]}

    single = {f: (price, [f]) for f, price in dict(data.prices.per_feature or {}).items()}
    return columns({**single, **data.prices.orders}), columns(data.prices.fees)


def _ap(model: object, X: np.ndarray, y: np.ndarray) -> float:
    told = model.predict_proba(X)[:, 1]  # type: ignore[attr-defined]
    return float(average_precision_score(y, told))


def run(kept: Kept, name: str, seeds: list[int], bills: list[float]) -> None:
    data = None
    for bill in bills:
        for seed in seeds:
            for label in labels_of(data := data or priced(name)):
                for what, measure in (("all", one), ("baselines", baselines_of)):
                    key = {"set": name, "seed": seed, "i": label, "what": what, "bill": bill}
                    if not kept.has(**key):
                        kept.add({**key, **measure(data, label, seed, bill)})


def together(lines: list[dict[str, float]]) -> list[dict[str, float]]:
    """All that was measured of a task in one line; tasks that we have not learned are left out."""
    tasks: dict[tuple[object, ...], dict[str, float]] = {}
    for line in lines:
        tasks.setdefault(tuple(line[k] for k in ("set", "bill", "seed", "i")), {}).update(line)
    return [line for line in tasks.values() if "ours" in line]


def shown(lines: list[dict[str, float]]) -> list[dict[str, object]]:
    lines = together(lines)
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(x["set"] for x in lines):
        for bill in sorted({x["bill"] for x in lines if x["set"] == name}):
            here = [x for x in lines if x["set"] == name and x["bill"] == bill]
            ways = [key for key in here[0] if ", " in key and all(key in x for x in here)]
            best = max(ways, key=lambda way: np.mean([x[way] for x in here]))
            rows.append(
                {
                    "set": name,
                    "bill": f"{bill:.0%}",
                    "tasks": len(here),
                    "ours": f"{np.mean([x['ours'] for x in here]):.3f}",
                    "the best other": f"{np.mean([x[best] for x in here]):.3f} ({best})",
                    "lead": interval([x["ours"] - x[best] for x in here]),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3])
    parser.add_argument("--bills", type=float, nargs="*", default=BILLS)
    given, kept = begin(parser, KEPT)
    for name in given.sets if given.seeds else ():
        run(kept, name, given.seeds, given.bills)
        print(table(shown([x for x in kept.lines if x["set"] == name])), flush=True)
    print(machine())
    print("\n" + table(shown(kept.lines)))


if __name__ == "__main__":
    main()
