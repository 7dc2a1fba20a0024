"""A data team's day: scikit-learn around Thrifty and Thrifty around a store, in one program.

    python examples/pipeline.py [folder]

Needs nothing but `pip install 'thrifty[demo]'`. A frame of pandas is learned from twice: as a step
of a scikit-learn pipeline that is cross-validated, and as a task of a lifetime that buys few cells
and is kept. The kept model answers rows of Polars, is written as JSON that plain Python predicts
from, and answers a row over HTTP, asking for the values it wants one by one.
"""

from __future__ import annotations

import json
import math
import sys
import threading
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import thrifty
from thrifty.service.app import serve
from thrifty.serving import serving_model

PLANS = ["basic", "family", "business"]
CALLS = [f"calls in week {i}" for i in range(12)]


def customers(n: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Customers as a warehouse has them: a category, gaps, numbers; and who left."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.poisson(3, size=(n, len(CALLS))).astype(float), columns=CALLS)
    frame.insert(0, "plan", rng.choice(PLANS, n))
    frame["debt"] = rng.lognormal(3, 1, n).round(2)
    odds = 0.8 * frame[CALLS[-1]] - 0.5 * frame[CALLS[0]] + (frame["plan"] == "basic") - 2
    left = rng.random(n) < 1 / (1 + np.exp(-odds))
    frame.loc[rng.random(n) < 0.1, "debt"] = np.nan
    return frame, pd.Series(np.where(left, "left", "stayed"), name="churn")


def predict(model: dict, row: dict) -> dict[str, float]:
    """The probability of each class, from the exported file alone (docs/serving.md)."""
    scores = list(model["base"])
    for node in model["trees"]:
        while isinstance(node, dict):
            value = row.get(node["feature"])
            gap = value is None or value != value or value not in node.get("known", [value])
            inside = value in node["in"] if "in" in node else not gap and value > node["above"]
            node = node["yes" if (node["gap"] if gap else inside) else "no"]
        scores = [score + added for score, added in zip(scores, node)]
    at = []
    for column in model.get("columns", []):
        value = row.get(column["feature"])
        if value is None or value != value:
            at.append(column["gap"])
        elif "in" in column:
            at.append(column["yes" if value in column["in"] else "no"])
        else:
            kept = min(max(value, column["low"]), column["high"])
            at.append((kept - column["centre"]) * column["scale"])
    for there, said in model.get("rows", []):
        near = math.exp(-sum((a - b) ** 2 for a, b in zip(at, there)))
        scores = [score + near * added for score, added in zip(scores, said)]
    odds = [math.exp(score - max(scores)) for score in scores]
    return {name: odd / sum(odds) for name, odd in zip(model["classes"], odds)}


def over_http(life: thrifty.Lifetime, row: dict) -> tuple[dict, list[str]]:
    """The answer of the service to one row, and what it asked for on the way."""
    found: dict = {}
    ready = threading.Event()

    def announce(address: str, token: str) -> None:
        found.update(address=address, token=token)
        ready.set()

    arguments = {"port": 0, "announce": announce}
    threading.Thread(target=serve, args=(life,), kwargs=arguments, daemon=True).start()
    ready.wait(30)
    told: dict = {}
    while True:
        sent = {"task": "churn", "id": "customer 1", "values": told, "sure": 0.75}
        header = {"Authorization": f"Bearer {found['token']}"}
        said = httpx.post(f"{found['address']}row", json=sent, headers=header, timeout=60).json()
        if "next" not in said:
            return said, list(told)
        told |= {name: row[name] for name in said["next"]}


def main(folder: Path, n: int = 600) -> dict:
    folder.mkdir(parents=True, exist_ok=True)
    frame, churn = customers(n, seed=0)
    new, truth = customers(100, seed=1)

    words = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    columns = ColumnTransformer([("plan", words, ["plan"])], remainder="passthrough")
    columns.set_output(transform="pandas")
    pipeline = make_pipeline(columns, thrifty.ModelClassifier(spend="30 %", random_state=0))
    scores = cross_val_score(pipeline, frame, churn, cv=3, scoring="roc_auc")
    print(f"cross-validated AUROC of the pipeline: {scores.mean():.2f}")

    store = folder / "churn.db"
    store.unlink(missing_ok=True)
    life = thrifty.Lifetime(store=store, prices=thrifty.PriceList(0.01, currency="EUR"))
    learned = life.learn("churn", frame, churn, spend="30 %", positive="left")
    print(f"learned for {learned.receipt.cost:.2f} EUR of {frame.size * 0.01:.2f}")

    answers = life.predict("churn", pl.from_pandas(new))  # frames of either kind
    right = float(np.mean(answers.values == truth.to_numpy()))
    print(f"{right:.0%} of {len(new)} new customers answered right; a row cost at most "
          f"{answers.receipt.cost_per_row.max():.2f} EUR")  # fmt: skip

    model = serving_model(learned.model)
    (folder / "churn.json").write_text(json.dumps(model))
    row = {k: None if v != v else v for k, v in new.iloc[0].items()}
    plain = predict(json.loads((folder / "churn.json").read_text()), row)
    print(f"from the exported file alone: {plain}")
    said, asked = over_http(life, row)
    print(f"over HTTP: {said['value']}, asked for {', '.join(asked)}")
    return {"scores": scores, "learned": learned, "answers": answers, "plain": plain, "said": said,
            "asked": asked, "life": life}  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "churn"))
