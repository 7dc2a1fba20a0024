"""``thrifty predict`` when the budget ends before the last row: what is answered is written."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import thrifty
from tests.shell import run
from thrifty.cli import app

pd = pytest.importorskip("pandas")

PROBABILITIES = (": probability of 0", ": probability of 1")
HOW_SURE = (": probability", ": sure", ": stopped")


@pytest.fixture
def ward(tmp_path):
    """A store whose budget has 30 cells left, and 60 patients to predict."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (160, 5)), columns=list("abcde"))
    table.insert(0, "patient", [f"p{i}" for i in range(160)])
    known, new = table[:100], table[100:]
    y = (known["a"] & known["b"]).to_numpy()
    source = thrifty.Source.from_frame(
        known.drop(columns="patient"), examples=known["patient"].tolist(), name="patient"
    )
    with thrifty.Lifetime(thrifty.Trees(max_depth=2), store=tmp_path / "ward.db") as life:
        life.learn("ill", source, y)
        life.change(budget=thrifty.Budget(total=life.balance().spent + 30))
    new.to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def predict(folder, *more):
    given = ["predict", folder / "new.csv", "--task", "ill", "--id", "patient"]
    given += ["--store", folder / "ward.db", *more]
    return CliRunner().invoke(app, [str(a) for a in given])


def test_the_only_task_needs_no_name(ward):
    given = ["predict", ward / "new.csv", "--id", "patient", "--store", ward / "ward.db"]
    asked = CliRunner().invoke(app, [str(a) for a in given])
    assert "rows are answered and written" in str(asked.exception)
    with thrifty.Lifetime.open(ward / "ward.db", budget=thrifty.Budget(total=100_000)) as life:
        tall = pd.DataFrame(np.eye(5, dtype=int)[[0, 1] * 20], columns=list("abcde"))
        life.learn("tall", tall, np.arange(40) % 2)
    asked = CliRunner().invoke(app, [str(a) for a in given])
    assert "say which task with --task: ill, tall" in str(asked.exception)


def test_what_is_answered_is_written(ward):
    out = ward / "answers.csv"
    asked = predict(ward, "-o", out)
    assert asked.exit_code != 0
    rows = list(csv.DictReader(out.open()))
    done = [row for row in rows if row["ill"] != ""]
    assert 15 <= len(done) < len(rows) == 60
    assert all(row["probability of 1"] == "" for row in rows if row["ill"] == "")
    assert f"{len(done)} of 60 rows are answered and written" in str(asked.exception)
    assert "learn again" not in str(asked.exception)
    with thrifty.Lifetime.open(ward / "ward.db", budget=thrifty.Budget(total=100_000)) as life:
        before = life.balance().predictions
    assert predict(ward, "-o", out).exit_code == 0
    again = list(csv.DictReader(out.open()))
    assert all(row["ill"] for row in again) and 0 < before <= 30
    assert [row["ill"] for row, old in zip(again, rows) if old["ill"]] == [r["ill"] for r in done]
    table = pd.read_csv(ward / "new.csv")
    right = (table["a"] & table["b"]).tolist()
    assert [int(row["ill"]) for row in again] == right


def test_json_names_the_rows_without_an_answer(ward):
    asked = predict(ward, "--json")
    assert asked.exit_code != 0
    said = json.loads(asked.stdout)
    assert said["unanswered"] and len(said["unanswered"]) < 60
    assert all(said["predictions"][i] is None for i in said["unanswered"])
    assert all(said["probabilities"][i] is None for i in said["unanswered"])


def test_several_tasks_in_one_pass(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    names = ["a", "b", "c", "d"]
    ids = [f"p{i}" for i in range(200)]
    source = thrifty.Source.from_array(X, feature_names=names, examples=ids, name="new")
    store = tmp_path / "life.db"
    with thrifty.Lifetime(store=store, random_state=0) as life:
        life.learn("ill", source, (X[:, 0] > 0).astype(int), spend="100 %")
        life.learn("tall", source, (X[:, 1] > 0).astype(int), spend="100 %")
    table = tmp_path / "new.csv"
    lines = [",".join(["id", *names])] + [
        ",".join([f"n{i}", *map(str, row)]) for i, row in enumerate(X[:20])
    ]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ["predict", str(table), "--task", "ill", "--task", "tall", "--id", "id", "--store"]
    done = run(*given, store, "--sure", "0.8")
    head = done.stdout.splitlines()[0].split(",")
    columns = ("", *HOW_SURE, *PROBABILITIES)
    named = [f"{task}{of}" for task in ("ill", "tall") for of in columns]
    assert head == ["id", *named, "cells", "cost"], "a probability says whose it is"
    told = CliRunner().invoke(app, [*given, str(store), "--json"])
    told = json.loads(told.stdout)
    assert told["tasks"] == ["ill", "tall"]
    assert len(told["probabilities"]["tall"]["n0"]) == len(told["classes"]["tall"]) == 2
    with thrifty.Lifetime.open(store) as life:
        frame = life.predict(["ill", "tall"], X[:20]).to_frame()
    assert list(frame) == ["id", *named, "cells", "cost"]
    assert (frame["tall"] == list(told["predictions"]["tall"].values())).all()
