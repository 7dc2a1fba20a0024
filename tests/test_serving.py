"""A model for serving: the function in the docs predicts the same, with nothing installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import thrifty
from thrifty.cli import app
from thrifty.errors import BadInput
from thrifty.serving import serving_model

PAGE = Path(__file__).resolve().parents[1] / "docs" / "serving.md"
MAIN = """
rows = json.load(open("rows.json"))
model = json.load(open("model.json"))
try:
    import thrifty
    raise SystemExit("thrifty must not be there")
except ImportError:
    pass
print(json.dumps([list(predict(model, row).values()) for row in rows]))
"""


def the_lines() -> str:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    (found,) = [block for block in blocks if "def predict(" in block]
    assert len(found.split('"""')[2].strip().splitlines()) <= 24
    return found


def served(folder: Path, model: dict[str, Any], rows: pd.DataFrame) -> np.ndarray:
    """What the function of the docs says, in a Python without any installed package."""
    plain = [
        {name: None if value != value else value for name, value in row.items()}
        for row in rows.astype(object).to_dict("records")
    ]
    (folder / "rows.json").write_text(json.dumps(plain))
    (folder / "model.json").write_text(json.dumps(model, allow_nan=False))
    command = [sys.executable, "-I", "-S", "-c", the_lines() + MAIN]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(done.stdout))


def people(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "smoker": rng.choice(["never", "former", "current"], n),
            "pressure": rng.normal(130, 15, n).round(1),
            "scan": rng.random(n) < 0.3,
        }
    )
    crossed = (frame["age"] > 60) ^ (frame["smoker"] == "current") ^ frame["scan"]
    odds = (frame["age"] - 60) / 30 + 4.0 * crossed - 2
    y = rng.random(n) < 1 / (1 + np.exp(-odds))
    frame.loc[rng.random(n) < 0.15, "pressure"] = np.nan
    frame.loc[rng.random(n) < 0.1, "smoker"] = None
    return frame, y


def strangers() -> pd.DataFrame:
    """New rows, with a category that was never seen, gaps and numbers outside what was."""
    frame, _ = people(60, seed=9)
    frame.loc[0, "smoker"], frame.loc[1, "age"], frame.loc[2, "pressure"] = "pipe", 500, -4.0
    return frame


@pytest.mark.parametrize("three", [False, True])
def test_the_default_mixture(tmp_path: Path, three: bool) -> None:
    frame, y = people(400)
    labels = np.where(y, "ill", "well")
    if three:
        labels = np.where(frame["age"] > 75, "old", labels)
    life = thrifty.Lifetime(random_state=0)
    model = life.learn("ill", frame, labels).model
    assert model.estimator_.trees is not None and model.estimator_.shares[2] > 0
    assert model.estimator_.kernel is not None and model.estimator_.shares[3] > 0
    found = served(tmp_path, serving_model(model), strangers())
    np.testing.assert_allclose(
        found, life.predict("ill", strangers()).probabilities, rtol=0, atol=1e-9
    )


def test_a_scorecard_as_the_estimator_and_alone(tmp_path: Path) -> None:
    frame, y = people(300)
    life = thrifty.Lifetime(thrifty.Models(thrifty.ScorecardClassifier()), random_state=0)
    model = life.learn("ill", frame, y).model
    found = served(tmp_path, serving_model(model), strangers())
    np.testing.assert_allclose(found, life.predict("ill", strangers()).probabilities, atol=1e-9)
    assert {row.feature for row in model.card_} <= set(frame)
    alone = thrifty.ScorecardClassifier().fit(frame, y)
    found = served(tmp_path, serving_model(alone), strangers())
    np.testing.assert_allclose(found, alone.predict_proba(strangers()), atol=1e-9)


def test_the_score_of_boolean_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.random((800, 30)) < 0.3, columns=[f"q{i}" for i in range(30)])
    y = rng.random(800) < 1 / (1 + np.exp(-(2.0 * frame["q1"] + 2.0 * frame["q2"] - 2.5)))
    life = thrifty.Lifetime(random_state=0)
    model = life.learn("t", frame, y.to_numpy(), spend="50 %").model
    new = frame.iloc[:50].astype(object)
    new.iloc[3, 1] = None
    found = served(tmp_path, serving_model(model), new)
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-9)


@pytest.mark.parametrize("family", [thrifty.Trees(max_depth=3), thrifty.Lists(max_depth=3)])
def test_trees_and_lists(tmp_path: Path, family: Any) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.random((200, 6)) < 0.5, columns=list("abcdef"))
    frame["ward"] = rng.choice(["north", "south"], 200)
    y = frame["a"] & (frame["ward"] == "south")
    life = thrifty.Lifetime(family)
    life.learn("t", frame, y.to_numpy())
    found = served(tmp_path, serving_model(life["t"]), frame)
    np.testing.assert_allclose(found, life.predict("t", frame).probabilities)
    assert (found[:, 1] == y).all()


def test_numbers_at_a_trees_threshold(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    tree = thrifty.TreeClassifier().fit(frame, [0, 0, 1, 1])
    threshold = tree.tree_.split.threshold
    new = pd.DataFrame({"x": [threshold, np.nextafter(threshold, -9), -1.0, 9.0]})
    found = served(tmp_path, serving_model(tree), new)
    np.testing.assert_array_equal(found, tree.predict_proba(new))


def test_the_command_writes_it(tmp_path: Path) -> None:
    frame, y = people(200)
    life = thrifty.Lifetime(store=str(tmp_path / "life.db"), random_state=0)
    life.learn("ill", frame, y)
    out = tmp_path / "model.json"
    place = str(tmp_path / "life.db")
    done = CliRunner().invoke(app, ["export", place, "--task", "ill", "-o", str(out)])
    assert done.exit_code == 0, done.output
    written = json.loads(out.read_text())
    assert written["task"] == "ill" and written["classes"] == [False, True]
    again = served(tmp_path, written, strangers())
    np.testing.assert_allclose(again, life.predict("ill", strangers()).probabilities, atol=1e-9)


def test_what_cannot_be_written_is_said() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 2))
    life = thrifty.Lifetime(thrifty.Models(LogisticRegression()))
    life.learn("t", X, X[:, 0] > 0)
    with pytest.raises(BadInput, match="LogisticRegression, which cannot be written for serving"):
        serving_model(life["t"])
