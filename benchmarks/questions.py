"""A bank of questions to a language model, in USD: python benchmarks/questions.py.

SIMULATED: no model is asked. The answers are the features of a real set with many related labels
(tmc2007_500: 500 words of aviation safety reports, 22 labels): question j about report i is
answered with whether word j occurs, and one answer in fifty is wrong. The prices are real in kind:
0.15 USD per million tokens read and 0.60 written; a report has 300 tokens, a question 12 and its
answer 4.

For one label after the other, how many USD until a model reaches a given share of the average
precision that all questions on all reports give:

- one prompt per question: the report's tokens are paid with every question
- all questions in one prompt: 500 questions with each report, on as many reports as it takes
- ours: thrifty.Models through the ledger, the wanted questions of a report in one prompt
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

import thrifty
from thrifty.benchmarks.measure import table

DATA = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[2] / "shared" / "data"))
RATES = thrifty.Rates("0.15 USD", "0.60 USD")
TEXT, HEAD, QUESTION, ANSWER = 300, 60, 12, 4
ROWS, TEST, WRONG = 1500, 3000, 0.02
GRID = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2)


def call_usd(questions: int) -> float:
    """What one prompt with so many questions costs."""
    read = TEXT + HEAD + QUESTION * questions
    return RATES.cost(read, ANSWER * questions) / 1e6


def prices(n_questions: int) -> thrifty.PriceList:
    """The report's tokens once per report, a question at its margin: for the learner's eyes."""
    names = [f"q{j}" for j in range(n_questions)]
    margin = RATES.cost(QUESTION * 1000, ANSWER * 1000) / 1e9
    return thrifty.PriceList(round(margin, 6), fees={"the report": (round(call_usd(0), 6), names)},
                             currency="USD")  # fmt: skip


def ours(X, y, X_test, y_test, life, name, usd) -> tuple[float, float]:
    """(spent, average precision)"""
    source = thrifty.Source.from_array(X, feature_names=[f"q{j}" for j in range(X.shape[1])])
    learned = life.learn(f"{name} {usd}", source, y, spend=usd)
    p = learned.model.predict_proba(X_test)[:, 1]
    return learned.receipt.cost, float(average_precision_score(y_test, p))


def one_prompt(X, y, X_test, y_test, usd, each) -> float:
    """All questions about as many reports, half of each class, as the money buys."""
    n = int(usd / each)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    half = [order[y[order] == c][: n // 2] for c in (0, 1)]
    rows = np.concatenate(half)
    if min(map(len, half)) < 3:
        return float("nan")
    share = np.array([(y == c).mean() / (y[rows] == c).mean() for c in (0, 1)])
    model = LogisticRegression(C=0.3, max_iter=300)
    model.fit(X[rows], y[rows], sample_weight=share[y[rows]])
    return float(average_precision_score(y_test, model.predict_proba(X_test)[:, 1]))


def measure(labels: int, seed: int) -> list[dict[str, object]]:
    z = np.load(DATA / "tmc2007_500.npz", allow_pickle=False)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(z["X"]))[: ROWS + TEST]
    X = z["X"][rows].astype(bool)
    X = X ^ (rng.random(X.shape) < WRONG)
    Y = z["Y"][rows]
    train, test = slice(0, ROWS), slice(ROWS, None)
    whole = ROWS * call_usd(X.shape[1])
    singly = call_usd(1)
    runs = []
    chosen = [c for c in range(Y.shape[1]) if 60 <= Y[train, c].sum() <= ROWS - 60][:labels]
    for label in chosen:
        y, y_test = Y[train, label].astype(int), Y[test, label].astype(int)
        full = LogisticRegression(C=0.3, max_iter=300).fit(X[train], y)
        top = float(average_precision_score(y_test, full.predict_proba(X[test])[:, 1]))
        for share in GRID:
            usd = share * whole
            life = thrifty.Lifetime(thrifty.Models(), prices=prices(X.shape[1]))
            spent, ap = ours(X[train], y, X[test], y_test, life, str(label), usd)
            both = one_prompt(X[train], y, X[test], y_test, usd, call_usd(X.shape[1]))
            single = one_prompt(X[train], y, X[test], y_test, usd, X.shape[1] * singly)
            runs.append({"label": label, "USD": usd, "share": share, "spent": spent,
                         "ours": ap / top, "one prompt": both / top,
                         "one prompt per question": single / top})  # fmt: skip
    return runs


def summary(runs: list[dict[str, object]]) -> list[dict[str, object]]:
    out = []
    for share in GRID:
        here = [r for r in runs if r["share"] == share]
        usd = float(np.mean([r["USD"] for r in here]))
        row: dict[str, object] = {"USD per task": round(usd, 3)}
        for method in ("ours", "one prompt", "one prompt per question"):
            values = np.array([r[method] for r in here], dtype=float)
            few = np.isnan(values).any()
            row[method] = "too few reports" if few else round(float(values.mean()), 3)
        out.append(row)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=6)
    given = parser.parse_args()
    start = time.process_time()
    with threadpool_limits(1):
        runs = measure(given.labels, 0)
    print("share of the average precision that all answers give; simulated answers\n")
    print(table(summary(runs)))
    print(f"\nall questions on all {ROWS} reports: {ROWS * call_usd(500):.2f} USD in one prompt "
          f"each, {ROWS * 500 * call_usd(1):.2f} USD in one prompt per question")  # fmt: skip
    print(f"{time.process_time() - start:.0f} s of CPU time")
