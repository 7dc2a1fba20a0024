"""A model for serving: the function in the docs predicts the same, with nothing installed."""

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

import thrifty
from tests.shell import run
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
    assert model.estimator_.trees is not None and model.estimator_.shares[1] > 0
    assert model.estimator_.kernel is not None and model.estimator_.shares[2] > 0
    found = served(tmp_path, serving_model(model), strangers())
    np.testing.assert_allclose(found, life.predict("ill", strangers()).probabilities, atol=1e-9)


def test_a_scorecard_as_the_estimator_and_alone(tmp_path: Path) -> None:
    frame, y = people(300)
    life = thrifty.Lifetime(
        thrifty.Models(thrifty.estimators.ScorecardClassifier()), random_state=0
    )
    model = life.learn("ill", frame, y).model
    found = served(tmp_path, serving_model(model), strangers())
    np.testing.assert_allclose(found, life.predict("ill", strangers()).probabilities, atol=1e-9)
    assert {row.feature for row in model.card_} <= set(frame)
    alone = thrifty.estimators.ScorecardClassifier().fit(frame, y)
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
    frame["age"] = rng.normal(50, 10, 200)
    y = frame["a"] & (frame["ward"] == "south") & (frame["age"] >= 45)
    life = thrifty.Lifetime(family)
    life.learn("t", frame, y.to_numpy())
    found = served(tmp_path, serving_model(life["t"].model), frame)
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
    run("store", "export", place, "--task", "ill", "-o", out)
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
        serving_model(life["t"].model)


def numbers_in(found: object) -> list[float]:
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        return [n for one in found for n in numbers_in(one)]
    return [float(found)] if isinstance(found, int | float) else []


def told(model: dict[str, Any], column: np.ndarray) -> int:
    """How many values of a column a file or its rows tell, to 1e-6 of the column's spread."""
    said = np.array(numbers_in(list(model.values())))
    for at, there in enumerate(model.get("columns", [])):
        if there.get("scale"):
            rows = np.array([row[0][at] for row in model["rows"]])
            said = np.append(said, rows / there["scale"] + there["centre"])
    return int(sum(np.abs(said - value).min() <= 1e-6 * column.std() for value in column))


def measured(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers near 0, large ones, and rounded ones, as an instrument or a person writes them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(7), columns=list("abc"))
    frame["b"] = 1_600_000_000 + (1e7 * frame["b"]).round()
    frame["c"] = (37 + frame["c"]).round(1)
    crossed = (frame["a"] > 0) ^ (frame["c"] > 37)
    return frame, (rng.random(n) < np.where(crossed, 0.85, 0.15)).astype(int)


OWN: dict[str, Any] = {
    "stack": thrifty.Models(),
    "card": thrifty.Models(thrifty.estimators.ScorecardClassifier()),
    "trees": thrifty.Trees(max_depth=4),
    "bits": thrifty.Lists(max_depth=4),
}


@pytest.mark.parametrize("kind", OWN)
def test_a_file_without_rows_tells_no_value_and_answers_alike(tmp_path: Path, kind: str) -> None:
    frame, y = measured()
    if kind in ("trees", "bits"):
        y = (frame["a"] > 0.1).to_numpy()
    given = {} if kind in ("trees", "bits") else {"spend": "100 %"}
    life = thrifty.Lifetime(OWN[kind], random_state=0)
    model = life.learn("t", frame, y, **given).model
    whole, private = serving_model(model), serving_model(model, rows=False)
    assert ("rows" in whole) == (kind == "stack")
    assert "rows" not in private and "columns" not in private
    for name in frame:
        assert told(private, frame[name].to_numpy()) == 0, name
    assert kind != "stack" or told(whole, frame["a"].to_numpy()) > 200
    exact, near = served(tmp_path, whole, frame), served(tmp_path, private, frame)
    assert np.mean(np.abs(exact - near) > 0.1) < (0.25 if kind == "stack" else 0.05)
    assert ((near[:, 1] > 0.5) == (exact[:, 1] > 0.5)).mean() > 0.9
    assert abs(near[:, 1].mean() - exact[:, 1].mean()) < 0.02


def test_a_file_says_what_it_holds_where_it_is_written(tmp_path: Path) -> None:
    frame, y = measured()
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
    model = life.learn("t", frame, y, spend="100 %").model
    n = len(serving_model(model)["rows"])  # type: ignore[arg-type]
    tree = thrifty.TreeClassifier().fit(frame, y)
    out = tmp_path / "t.json"
    command = ["store", "export", tmp_path / "s.db", "--task", "t", "-o", out]
    done = run(*command)
    said = serving_model(model)["holds"]
    assert f"holds {n} of the rows that the model was learned from, value by value" in str(said)
    assert str(said) in " ".join(done.output.split())
    assert "cuts numbers at values" in str(serving_model(tree)["holds"])
    done = run(*command, "--without-rows")
    said = serving_model(model, rows=False)["holds"]
    assert str(said) in " ".join(done.output.split())
    assert "no row" in str(said) and "rows" not in json.loads(out.read_text())
    done = run("store", "export", tmp_path / "s.db", "-o", out)
    assert "keep it as you keep the store" in done.output
