"""A messy CSV is all it takes: learn a column, predict for other rows, see the bill."""

import csv

import numpy as np
import pytest

from tests.shell import run

pd = pytest.importorskip("pandas")


def messy(path, seed, n=500):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "patient": [f"p{seed}-{i}" for i in range(n)],
            "age": rng.normal(50, 12, n).round(),
            "smokes": rng.choice(["never", "once", "often"], n),
            **{f"test {i}": rng.normal(size=n).round(2) for i in range(6)},
        }
    )
    ill = (frame["smokes"] == "often") ^ (rng.random(n) < 0.05)
    frame.loc[rng.random(n) < 0.2, "test 3"] = np.nan
    frame.loc[rng.random(n) < 0.1, "smokes"] = None
    frame["visit"] = [f"2020-01-{i % 28 + 1:02d} {i}" for i in range(n)]
    frame["ill"] = np.where(ill, "yes", "no")
    frame.to_csv(path, index=False)
    return frame


def test_from_a_table_to_predictions(tmp_path):
    first, new = tmp_path / "patients.csv", tmp_path / "new.csv"
    messy(first, 0)
    other = messy(new, 1)
    other[other.columns[::-1]].to_csv(new, index=False)
    said = run("learn", first, "--label", "ill", "--id", "patient", "--spend", "30 %")
    assert "left out: 'visit'" in said.stderr
    store = tmp_path / "patients.db"
    out = tmp_path / "answers.csv"
    run("predict", new, "--task", "ill", "--id", "patient", "--store", store, "-o", out)
    answers = list(csv.DictReader(out.open()))
    assert [row["id"] for row in answers] == other["patient"].tolist()
    right = [row["ill"] == said for row, said in zip(answers, other["ill"])]
    assert np.mean(right) > 0.8
    assert {"probability of yes", "cost"} <= set(answers[0])
    assert "ill" in run("bill", store).output
    assert "a model of no, yes on" in run("show", store, "ill").output
    again = tmp_path / "again.csv"
    other.to_csv(again, index=False)
    twice = run("predict", again, "--task", "ill", "--id", "patient", "--store", store)
    assert "0 cells bought" in twice.stderr, "an id is the same example in whichever file"


def from_a_spreadsheet(path, seed, n, towns=60):
    """Semicolons, commas in numbers, a byte order mark, notes with whatever people write."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "Größe": rng.normal(170, 10, n).round(1),
            "town": rng.permutation(np.arange(n) % towns),
            "zip": rng.integers(10_000, 10_003, n),
            "admitted": [f"{i % 28 + 1}.3.2024" for i in range(n)],
            "note": [f'said: "{i}; or so", then left' for i in range(n)],
        }
    )
    frame["ill"] = (frame["town"] % 3 == 0) ^ (rng.random(n) < 0.05)
    frame["town"] = [f"town {t}" for t in frame["town"]]
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig")
    return frame


def test_a_column_that_counts_the_rows_may_be_their_names(tmp_path):
    frame = pd.DataFrame({"case": range(7, 67), "u": np.arange(60) % 7, "ill": np.arange(60) % 2})
    frame.to_csv(tmp_path / "cases.csv", index=False)
    hint = "'case' counts the rows: if it names them, say --id case."
    assert hint in run("learn", tmp_path / "cases.csv", "--label", "ill").stderr
    named = run("learn", tmp_path / "cases.csv", "--label", "ill", "--id", "case", "--store",
                tmp_path / "other.db").stderr  # fmt: skip
    assert "counts the rows" not in named


def test_a_spreadsheet_of_half_of_the_world_and_few_new_rows(tmp_path):
    first, new = tmp_path / "patients.csv", tmp_path / "new.csv"
    from_a_spreadsheet(first, 0, 900)
    other = from_a_spreadsheet(new, 1, 60)  # every town once: a category all the same
    said = run("learn", first, "--label", "ill", "--spend", "90 %").stderr
    assert [line.split("'")[1] for line in said.splitlines() if "left out" in line] == [
        "admitted",
        "note",
    ]
    out = tmp_path / "answers.csv"
    run("predict", new, "--task", "ill", "--store", tmp_path / "patients.db", "-o", out)
    answers = [row["ill"] == "True" for row in csv.DictReader(out.open())]
    assert np.mean(np.array(answers) == other["ill"]) > 0.8


def with_decimal_commas(path, seed, n):
    frame = messy(path, seed, n).drop(columns="visit")
    weight = np.where(frame["ill"] == "yes", 80, 60) + np.random.default_rng(seed).normal(0, 5, n)
    frame["weight"] = [f"{w:.1f}".replace(".", ",") for w in weight]
    frame.to_csv(path, index=False)
    return frame


def test_a_kind_told_once_holds_next_month_and_at_prediction(tmp_path):
    files = [tmp_path / f"{month}.csv" for month in ("jan", "feb", "new")]
    jan, feb, new = files
    for seed, (path, n) in enumerate(zip(files, (160, 80, 40))):
        truth = with_decimal_commas(path, seed, n)
    store = ("--store", tmp_path / "c.db", "--id", "patient")
    said = run("learn", jan, "--label", "ill", *store).stderr
    assert "--kinds 'weight=number'" in said  # text it is, but most of it reads as numbers
    run("store", "forget", tmp_path / "c.db", "ill")
    run("learn", jan, "--label", "ill", "--kinds", "weight=number", *store)
    run("learn", feb, "--label", "ill", "--update", *store)
    assert "ill@2" in run("store", "versions", tmp_path / "c.db").output
    assert run("store", "rollback", tmp_path / "c.db", ok=False).exit_code == 2  # which task?
    out = tmp_path / "answers.csv"
    run("predict", new, "--task", "ill", *store, "-o", out)
    answers = [row["ill"] for row in csv.DictReader(out.open())]
    assert np.mean(np.array(answers) == truth["ill"]) > 0.8


def test_a_file_in_another_encoding_says_so(tmp_path):
    (tmp_path / "a.csv").write_bytes("Größe,ill\n1,0\n".encode("latin-1"))
    assert "UTF-8" in str(run("learn", tmp_path / "a.csv", "--label", "ill", ok=False).exception)


def test_options_of_a_table_are_not_for_task_files(tmp_path):
    (tmp_path / "tasks.yaml").write_text("source: {csv: a.csv}")
    asked = run("learn", tmp_path / "tasks.yaml", "--label", "ill", ok=False)
    assert "--label is for tables" in str(asked.exception)
