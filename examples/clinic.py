"""A clinic orders tests: one diagnosis after another, on the same patients, at laboratory prices.

    python examples/clinic.py [folder]

Made-up patients as a clinic has them: numbers, categories, gaps, and diagnoses that the values make
likely and never certain. Some things are known for free, blood tests share one draw, an ultrasound
is dear. Each diagnosis may spend a share of what every test on every patient would cost; what was
ordered for one is there for the next. The bill, the scorecards and what a new patient costs end up
in ``clinic.html``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import thrifty
from thrifty.report import save_report

FREE = ["age", "sex", "smoker", "BMI"]
BLOOD = {"glucose": 2.50, "HbA1c": 9.00, "CRP": 6.00, "TSH": 12.50, "LDL": 5.00, "eGFR": 4.00}
PANEL = {f"marker {j}": 7.50 for j in range(1, 9)}
OTHER = {"ultrasound": 64.00}

PRICES = thrifty.PriceList(
    {**dict.fromkeys(FREE, 0), **BLOOD, **PANEL, **OTHER},
    fees={"blood draw": (9.50, [*BLOOD, *PANEL])},  # once per patient, whatever is measured
    currency="EUR",
)


def patients(n: int, seed: int) -> pd.DataFrame:
    """Patients with values as a laboratory reports them, some of them lacking."""
    rng = np.random.default_rng(seed)
    age, bmi = rng.integers(18, 90, n), rng.normal(27, 5, n).round(1)
    glucose = np.exp(rng.normal(4.6, 0.25, n) + 0.01 * (bmi - 27)).round()
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["woman", "man"], n),
            "smoker": rng.choice(["never", "former", "current"], n, p=[0.5, 0.3, 0.2]),
            "BMI": bmi,
            "glucose": glucose,
            "HbA1c": (5.4 + 0.012 * (glucose - 100) + rng.normal(0, 0.3, n)).round(1),
            "CRP": rng.lognormal(0.5, 1, n).round(1),
            "TSH": rng.lognormal(0.5, 0.6, n).round(2),
            "LDL": rng.normal(125, 30, n).round(),
            "eGFR": (110 - 0.5 * age + rng.normal(0, 12, n)).round(),
            **{name: rng.normal(size=n).round(2) for name in PANEL},
            "ultrasound": rng.choice(["clear", "cyst", "mass"], n, p=[0.8, 0.15, 0.05]),
        }
    )
    for name in ("BMI", "CRP", "LDL"):
        frame.loc[rng.random(n) < 0.1, name] = np.nan
    return frame


def diagnoses(p: pd.DataFrame, seed: int) -> dict[str, np.ndarray]:
    """What the clinic wants to know: likely or unlikely by the values, never certain."""
    rng = np.random.default_rng(seed)
    smokes, bmi, ldl = p["smoker"] == "current", p["BMI"].fillna(27), p["LDL"].fillna(125)
    odds = {
        "diabetes": (p["HbA1c"] - 6.3) * 3 + (bmi - 27) * 0.08 - 1.2,
        "kidney disease": (60 - p["eGFR"]) * 0.12 - 1.5 + 0.5 * smokes,
        "heart disease": (p["age"] - 70) * 0.08 + (ldl - 130) * 0.02 + smokes - 1.5,
        "thyroid nodule": (p["ultrasound"] == "mass") * 4.0 + (p["TSH"] > 3) - 3,
    }
    return {name: rng.random(len(p)) < 1 / (1 + np.exp(-x.to_numpy())) for name, x in odds.items()}


def ward(frame: pd.DataFrame, first: int) -> thrifty.Source:
    """Patients by id: what was ordered for one of them is never ordered again."""
    ids = [f"patient {first + i}" for i in range(len(frame))]
    return thrifty.Source.from_frame(frame, examples=ids, name="ward", allow_missing=True)


def main(
    folder: Path, n_patients: int = 1200, asked: tuple[str, ...] = ("diabetes", "heart disease")
) -> thrifty.Lifetime:
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "clinic.db"
    store.unlink(missing_ok=True)
    life = thrifty.Lifetime(
        store=str(store), prices=PRICES, budget=thrifty.Budget(total="120000 EUR"), random_state=0
    )
    seen = patients(n_patients, seed=0)
    for name, ill in diagnoses(seen, seed=1).items():
        learned = life.learn(name, ward(seen, 0), ill, spend="6 %")
        bill, quality = learned.receipt, learned.model.quality_
        measured = quality.average_precision if quality else "not measured"
        print(
            f"{name:16} {bill.cost:9,.2f} EUR, {bill.reused_cells:5,} values known before, "
            f"average precision {measured}"
        )
    new = ward(patients(n_patients // 6, seed=2), n_patients)
    for name in asked:
        found = life.predict(name, new, stop=thrifty.Sure(0.95))
        each = found.receipt.cost / len(found)
        print(f"a new patient, {name:16} {each:6.2f} EUR on average")
    balance = life.balance()
    print(
        f"\nlearned for {balance.learning:,.2f} EUR; every test on every patient would have "
        f"cost {balance.everything:,.2f}; {balance.left:,.2f} of the budget left"
    )
    page = save_report(life, folder / "clinic.html", title="clinic")
    print(f"The report: {page.resolve()}")
    return life


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "clinic"))
