"""A clinic orders tests: one diagnosis after another, over the same tests, with panel prices.

    python examples/clinic.py [folder]

Made-up patients, shaped like the thyroid data that people have studied since 1987: a few things
that are known for free, blood tests behind one draw, an expensive scan. Each diagnosis at each site
is a task with its own patients. The first site pays for finding out which tests matter; the others
are learned from what it taught. The bill, the trees and the price of one visit end up in
``clinic.html``.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import thrifty
from thrifty.report import save_report, view_of
from thrifty.report.prediction import prediction_prices

FREE = ["age", "female", "pregnant", "on thyroxine", "had surgery", "goitre seen", "tumour felt"]
BLOOD = {"TSH": 22.78, "T3": 11.41, "T4": 14.51, "T4 uptake": 11.41, "antibodies": 27.50}
OTHER = {"ultrasound": 64.00, "scintigram": 118.00}

PRICES = thrifty.PriceList(
    {**dict.fromkeys(FREE, 0), **BLOOD, **OTHER},
    panels={"blood draw": (9.50, list(BLOOD))},  # once per patient, whatever is measured
    currency="EUR",
)

SITES = ["north", "south", "harbour"]

#: what the clinics want to tell apart
DIAGNOSES = {
    "hypothyroid": lambda p: (p["TSH"] >= 4.2) & (p["T4"] < 64),
    "subclinical": lambda p: (p["TSH"] >= 4.2) & (p["T4"] >= 64),
    "hyperthyroid": lambda p: (p["TSH"] < 0.5) & (p["T3"] >= 2.7),
    "dose change": lambda p: (p["TSH"] >= 4.2) & p["on thyroxine"],
    "toxic nodule": lambda p: (p["TSH"] < 0.5) & (p["T3"] >= 2.7) & p["tumour felt"],
}


def patients(n: int, seed: int) -> pd.DataFrame:
    """Patients with values as a laboratory reports them."""
    rng = np.random.default_rng(seed)
    ill = rng.choice(["well", "low", "high"], n, p=[0.5, 0.28, 0.22])
    middle = np.select([ill == "low", ill == "high"], [9.0, 0.15], 1.6)
    flags = {name: rng.random(n) < 0.3 for name in FREE[1:]}
    return pd.DataFrame({
        "age": rng.integers(18, 90, n),
        **flags,
        "TSH": (middle * rng.lognormal(0, 0.25, n)).round(2),
        "T3": np.where(ill == "high", rng.normal(3.6, 0.3, n), rng.normal(1.9, 0.25, n)).round(2),
        "T4": np.where((ill == "low") & (rng.random(n) < 0.6), rng.normal(45, 6, n),
                       rng.normal(105, 12, n)).round(0),
        "T4 uptake": rng.normal(0.98, 0.1, n).round(2),
        "antibodies": rng.lognormal(3, 1, n).round(0),
        "ultrasound": rng.random(n) < 0.2,
        "scintigram": rng.random(n) < 0.1,
    })  # fmt: skip


def main(folder: Path, n_patients: int = 600) -> thrifty.Lifetime:
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "clinic.db"
    store.unlink(missing_ok=True)
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=5, learner=thrifty.Race()), store=str(store), prices=PRICES
    )
    for site, (name, rule) in product(SITES, DIAGNOSES.items()):
        seen = patients(n_patients, seed=len(life))  # every study has its own patients
        learned = life.learn(f"{name}, {site}", seen, rule(seen).astype(int))
        bill = learned.receipt
        each = bill.cost / n_patients
        print(f"{learned.name:24} {learned.route:8} {bill.cells:6} cells {each:7.2f} EUR a patient")
    print()
    for price in prediction_prices(view_of(life, prices=PRICES)):
        print(f"one visit, {price.task:24} {price.mean:6.2f} EUR on average, "
              f"all tests {price.everything:.2f}")  # fmt: skip
    page = save_report(life, folder / "clinic.html", title="clinic", prices=PRICES)
    print(f"\nThe report: {page.resolve()}")
    return life


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "clinic"))
