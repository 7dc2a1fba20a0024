"""What tasks are quoted beside what they then cost, on real tables with several price lists.

    python benchmarks/quotes.py [SET ...]

1,500 rows of each set (all where there are fewer), two labels, without a word on what to spend,
with 3 % and with 10 % of everything. nhanes and physionet_icu have the laboratory fee schedule with
overlapping panels and a fee for drawing blood, thyroid0387_cost Turney's prices, spam and
tmc2007_500 one price for all, the others prices of 1, 3, 10 or 30 at random.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import thrifty
from studies.data import data_folder

SETS = (
    "nhanes", "physionet_icu", "support2", "spam", "thyroid0387_cost", "yeast", "tmc2007_500",
    "ckd", "tox21_maccs",
)  # fmt: skip
ROWS = 1500


def read(name):
    """Values, labels, names of the features, prices."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as found:
        raw = "X_raw" in found.files
        X, Y = found["X_raw" if raw else "X"].astype(float), found["Y"].astype(int)
        names = [str(n) for n in found["test_names" if raw else "feature_names"]]
        costs = found["test_cost"].tolist() if "test_cost" in found.files else None
    if name in ("nhanes", "physionet_icu"):
        listed = data_folder() / f"{name}_prices.json"
        return X, Y, names, thrifty.PriceList.from_json(listed, features=names)
    if costs is None and name not in ("spam", "tmc2007_500"):
        rng = np.random.default_rng(1)
        costs = rng.choice([1.0, 3.0, 10.0, 30.0], len(names)).tolist()
    return X, Y, names, costs


def measure(name):
    """Lines of one set; the ratios of quoted to paid where something was said, and where not."""
    X, Y, names, prices = read(name)
    Y = Y.reshape(len(Y), -1)
    shares = [abs(np.mean(Y[Y[:, j] >= 0, j] == 1) - 0.5) for j in range(Y.shape[1])]
    said, unsaid = [], []
    for label in dict.fromkeys(np.argsort(shares)[[0, min(3, len(shares) - 1)]].tolist()):
        rows = np.random.default_rng(0).permutation(np.flatnonzero(Y[:, label] >= 0))[:ROWS]
        table, y = X[rows], Y[rows, label]
        if np.isin(table[~np.isnan(table)], [0, 1]).all():
            table = table.astype(bool)
        for spend in (None, "3 %", "10 %"):

            def source(table=table):
                return thrifty.Source.from_array(table, feature_names=names, allow_missing=True)

            life = thrifty.Lifetime(prices=prices, random_state=0)
            begun = time.process_time()
            quote = life.quote("t", source(), y, spend=spend)
            took = time.process_time() - begun
            paid = life.learn("t", source(), y, spend=spend).receipt
            (said if spend else unsaid).append(quote.cost / max(paid.cost, 1e-9))
            print(
                f"{name} label {label} {spend or 'nothing said'}: quoted {quote.cost:,.0f} for "
                f"{quote.cells:,} cells, paid {paid.cost:,.0f} for {paid.cells:,}; at most "
                f"{quote.scratch_cost_at_most:,.0f} ({took:.1f} s)",
                flush=True,
            )
    return said, unsaid


def main():
    warnings.simplefilter("ignore")
    said, unsaid = [], []
    for name in sys.argv[1:] or SETS:
        a, b = measure(name)
        said += a
        unsaid += b
    for what, ratios in (("with spend=", said), ("nothing said", unsaid)):
        print(
            f"{what}: quoted / paid {min(ratios):.3f} to {max(ratios):.3f}, median "
            f"{np.median(ratios):.3f} ({len(ratios)} tasks)"
        )


if __name__ == "__main__":
    main()
