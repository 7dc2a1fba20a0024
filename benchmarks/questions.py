"""A bank of questions to a language model, in USD: python benchmarks/questions.py.

SIMULATED: no model is asked. The answers are the features of a real set with many related labels
(tmc2007_500: 500 words of aviation safety reports, 22 labels; --set takes others): question j about
report i is answered with whether word j occurs, and one answer in fifty is wrong. Prompts and
replies are whole texts; tokens are counted on them, and paid at rates that are real in kind: 0.15
USD per million read and 0.60 written. A report has 300 tokens.

For one label after the other, each in a lifetime of its own, the share of the average precision
that all questions on all reports give, for so many USD:

- ours: thrifty.Models on Source.from_questions; what was billed is by the tokens of every call
- all questions in one prompt, on as many reports as the money lasts for
- one prompt per question: the report's tokens are paid with every question

The other two learn logistic regression on as many reports of each class.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

import thrifty
from studies.measure import table
from thrifty.cells.prices.money import estimated_tokens
from thrifty.cells.sources.questions import Reply

DATA = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[2] / "shared" / "data"))
RATES = thrifty.Rates("0.15 USD", "0.60 USD")
ROWS, TEST, WRONG = 1500, 3000, 0.02
GRID = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
FILLER = " word" * 178  # with its number a report has 300 tokens


class Simulated:
    """Answers what is asked about a report; counts the tokens of everything that it answered."""

    model = "simulated"

    def __init__(self, X: np.ndarray) -> None:
        self.X, self.usd, self.calls = X, 0.0, 0

    def __call__(self, prompt: str) -> Reply:
        row = int(re.search(r"report (\d+)\b", prompt).group(1))
        asked = [int(j) for j in re.findall(r"topic (\d+)\?", prompt)]
        said = {str(i): "yes" if self.X[row, j] else "no" for i, j in enumerate(asked, 1)}
        reply = json.dumps(said, separators=(",", ":"))
        read, written = estimated_tokens(prompt), estimated_tokens(reply)
        self.usd += RATES.cost(read, written) / 1e6
        self.calls += 1
        return Reply(reply, read, written)


def bank(X: np.ndarray) -> tuple[thrifty.Source, Simulated]:
    """The reports and the questions, and who answers them."""
    answers = Simulated(X)
    texts = {i: f"report {i}{FILLER}" for i in range(len(X))}
    questions = {f"q{j}": f"Does it mention topic {j}?" for j in range(X.shape[1])}
    source = thrifty.Source.from_questions(texts, questions, ask=answers, rates=RATES)
    return source, answers


def call_usd(X: np.ndarray, questions: int) -> float:
    """What one prompt with so many questions costs, by the tokens it and its reply have."""
    source, answers = bank(X[:1])
    answers(source.prompt(source.examples[0], list(source.feature_names)[:questions]))
    return answers.usd


def ours(X, y, X_test, y_test, usd) -> tuple[float, float, int]:
    """(billed, average precision, calls)"""
    source, answers = bank(X)
    life = thrifty.Lifetime(thrifty.Models())
    learned = life.learn("label", source, y, spend=usd)
    assert abs(learned.receipt.cost - answers.usd) < 1e-6 and answers.usd <= usd
    p = learned.model.predict_proba(X_test.astype(float))[:, 1]
    return answers.usd, float(average_precision_score(y_test, p)), answers.calls


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


def measure(name: str, labels: int, seed: int) -> list[dict[str, object]]:
    z = np.load(DATA / f"{name}.npz", allow_pickle=False)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(z["X"]))[: ROWS + TEST]
    X = z["X"][rows].astype(bool)
    X = X ^ (rng.random(X.shape) < WRONG)
    Y = z["Y"][rows]
    train, test = slice(0, ROWS), slice(ROWS, None)
    n, together, alone = X.shape[1], call_usd(X, X.shape[1]), call_usd(X, 1)
    print(
        f"{name}: everything in one prompt a report {ROWS * together:.2f} USD, in one prompt per "
        f"question {ROWS * n * alone:.2f} USD"
    )
    runs = []
    chosen = [c for c in range(Y.shape[1]) if 60 <= Y[train, c].sum() <= ROWS - 60][:labels]
    for label in chosen:
        y, y_test = Y[train, label].astype(int), Y[test, label].astype(int)
        full = LogisticRegression(C=0.3, max_iter=300).fit(X[train], y)
        top = float(average_precision_score(y_test, full.predict_proba(X[test])[:, 1]))
        for share in GRID:
            usd = share * ROWS * together
            spent, ap, calls = ours(X[train], y, X[test], y_test, usd)
            both = one_prompt(X[train], y, X[test], y_test, usd, together)
            single = one_prompt(X[train], y, X[test], y_test, usd, n * alone)
            runs.append({"label": label, "USD": usd, "share": share, "spent": spent,
                         "calls": calls, "ours": ap / top, "one prompt": both / top,
                         "one prompt per question": single / top})  # fmt: skip
    return runs


def summary(runs: list[dict[str, object]]) -> list[dict[str, object]]:
    out = []
    for share in GRID:
        here = [r for r in runs if r["share"] == share]
        usd = float(np.mean([r["USD"] for r in here]))
        row: dict[str, object] = {"USD per task": round(usd, 3)}
        row["billed"] = round(float(np.mean([r["spent"] for r in here])), 3)
        row["calls"] = round(float(np.mean([r["calls"] for r in here])))
        for method in ("ours", "one prompt", "one prompt per question"):
            values = np.array([r[method] for r in here], dtype=float)
            few = np.isnan(values).any()
            row[method] = "too few reports" if few else round(float(values.mean()), 3)
        out.append(row)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=6)
    parser.add_argument("--set", dest="sets", nargs="+", default=["tmc2007_500"])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.process_time()
    for name in given.sets:
        with threadpool_limits(1):
            runs = measure(name, given.labels, given.seed)
        print("share of the average precision that all answers give; simulated answers\n")
        print(table(summary(runs)) + "\n")
    print(f"{time.process_time() - start:.0f} s of CPU time")
