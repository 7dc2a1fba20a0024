"""Free columns first: python benchmarks/free_columns.py [--sets ...] [--splits ...].

- physionet_icu with its price list: 18 columns are read at the bedside for nothing, 23 come from
  the laboratory at its rates; one label
- nhanes: all that is asked in the interview is free, body measures, diet recalls and blood tests
  have their prices; two labels
- support2: who the patient is and what is seen at the bedside is free, each laboratory value costs
  one; two labels

3,000 rows to learn from (nhanes: 1,800), the rest for the test; the splits are the same for every
bill. Printed are average precision at each bill, as a share of what all rows cost; beside it
LightGBM on the free columns alone and on everything. "lead": ours less ours for nothing, over
splits and labels, with a 90 % interval. Money that buys nothing of use must not harm. Lines are
kept, so that a run can be broken off and go on.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

import thrifty
from studies.data import data_folder
from studies.kept import Kept, begin, interval
from studies.measure import machine, table
from studies.model_ways import boosted

SETS = ("physionet_icu", "nhanes", "support2")
BILLS = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2)
KEPT = Path(__file__).resolve().parent / "results" / "free_columns.jsonl"
#: of support2: what a laboratory says
LABORATORY = ("wblc", "pafi", "alb", "bili", "crea", "sod", "ph", "glucose", "bun")
#: at most so many labels of a set, those with the most rows of the rare class
LABELS = 2


@dataclass(frozen=True, eq=False)
class Priced:
    """A set with its prices."""

    X: np.ndarray
    Y: np.ndarray
    names: list[str]
    prices: thrifty.PriceList
    kinds: dict[str, str] | None = None

    @property
    def free(self) -> np.ndarray:
        cells = thrifty.protocol.Cells(self.source(np.arange(2)), self.prices)
        return np.flatnonzero(np.asarray(cells.prices) <= 0)

    def source(self, rows: np.ndarray) -> thrifty.Source:
        return thrifty.Source.from_array(
            self.X[rows], feature_names=self.names, allow_missing=True, kinds=self.kinds
        )


def read(name: str) -> Priced:
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}: no data folder; set THRIFTY_DATA to it.")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
        X, Y = z["X"].astype(np.float64), z["Y"].astype(np.int64)
        names = [str(f) for f in z["feature_names"]]
        kinds = [str(k) for k in z["kinds"]] if "kinds" in z.files else []
    if name == "support2":
        prices = thrifty.PriceList({f: float(f in LABORATORY) for f in names})
    elif name == "nhanes":
        listed = json.loads((folder / "nhanes_prices.json").read_text())
        paid = set(listed["single"]) | {f for p in listed["panels"].values() for f in p["fills"]}
        prices = thrifty.PriceList(
            {f: listed["single"].get(f, {"price": 0.0})["price"] for f in names if f not in paid}
            | {f: line["price"] for f, line in listed["single"].items()},
            orders={n: (p["price"], p["fills"]) for n, p in listed["panels"].items()},
            fees={"draw": (listed["draw"]["fee"], listed["draw"]["once_for_any_of"])},
        )
    else:
        prices = thrifty.PriceList.from_json(folder / f"{name}_prices.json", features=names)
    named = {f: "category" for f, k in zip(names, kinds) if k.startswith("category")}
    return Priced(X, Y, names, prices, named or None)


def labels_of(data: Priced) -> list[int]:
    """Those with the most rows of the rarer class."""
    rare = [min((y == 1).sum(), (y == 0).sum()) for y in data.Y.T]
    return sorted(np.argsort(rare)[::-1][:LABELS].tolist())


def rows_of(data: Priced, label: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """To learn from, and to judge on."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(data.Y[:, label] >= 0))
    cut = min(3000, int(0.6 * len(rows)))
    return rows[:cut], rows[cut:]


def ours(data: Priced, label: int, seed: int, bill: float) -> dict[str, object]:
    train, test = rows_of(data, label, seed)
    life = thrifty.Lifetime(prices=data.prices, random_state=0)
    y = data.Y[:, label]
    learned = life.learn("label", data.source(train), y[train], spend=f"{100 * bill:g} %")
    told = learned.model.predict_proba(data.X[test])[:, 1]
    return {
        "ap": float(average_precision_score(y[test], told)),
        "cost": float(learned.receipt.cost),
        "features": len(learned.model.features_),
    }


def theirs(data: Priced, label: int, seed: int) -> dict[str, object]:
    train, test = rows_of(data, label, seed)
    y = data.Y[:, label]
    found = {}
    for name, of in (("free", data.free), ("all", np.arange(len(data.names)))):
        model = boosted(data.X[np.ix_(train, of)], y[train])
        told = model.predict_proba(data.X[np.ix_(test, of)].astype(np.float32))[:, 1]
        found[name] = float(average_precision_score(y[test], told))
    return found


def run(kept: Kept, name: str, seed: int, bills: list[float]) -> None:
    data = read(name)
    for label in labels_of(data):
        key = {"set": name, "seed": seed, "i": label}
        if not kept.has(**key, what="full"):
            kept.add({**key, "what": "full", **theirs(data, label, seed)})
        for bill in bills:
            if not kept.has(**key, what="ours", bill=bill):
                found = ours(data, label, seed, bill)
                kept.add({**key, "what": "ours", "bill": bill, **found})


def shown(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """A row for each set and bill."""
    by = {(x["set"], x["seed"], x["i"], x["what"], x.get("bill")): x for x in lines}
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(x["set"] for x in lines):
        for bill in sorted({x["bill"] for x in lines if x["set"] == name and "bill" in x}):
            keys = [k for k in by if k[0] == name and k[3] == "ours" and k[4] == bill]
            both = [k for k in keys if (*k[:4], 0.0) in by]
            full = [by[(*k[:3], "full", None)] for k in keys]
            ap = [float(by[k]["ap"]) for k in keys]  # type: ignore[arg-type]
            lead = [by[k]["ap"] - by[(*k[:4], 0.0)]["ap"] for k in both]  # type: ignore[operator]
            rows.append(
                {
                    "set": name,
                    "bill": f"{bill:.0%}",
                    "splits": len({k[1] for k in keys}),
                    "labels": len({k[2] for k in keys}),
                    "ours": f"{np.mean(ap):.4f}",
                    "least split": f"{min(_by_split(keys, ap)):.4f}",
                    "lead": interval(lead),
                    "LightGBM, free": f"{np.mean([x['free'] for x in full]):.4f}",
                    "LightGBM, all": f"{np.mean([x['all'] for x in full]):.4f}",
                }
            )
    return rows


def _by_split(keys: list[tuple[object, ...]], ap: list[float]) -> list[float]:
    return [
        float(np.mean([a for k, a in zip(keys, ap) if k[1] == split]))
        for split in {k[1] for k in keys}
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--splits", type=int, nargs="*", default=[0, 1, 2, 3])
    parser.add_argument("--bills", type=float, nargs="*", default=BILLS)
    given, kept = begin(parser, KEPT)
    for name in given.sets:
        for seed in given.splits:
            run(kept, name, seed, given.bills)
        print(table(shown([x for x in kept.lines if x["set"] == name])), flush=True)
    print(machine())
    print("\n" + table(shown(kept.lines)))


if __name__ == "__main__":
    main()
