"""What a new user meets in the first month, on the command line alone: each once failed."""

import csv
import json
import re

import numpy as np
import pytest

import thrifty
from tests.shell import run
from thrifty.commands.options import in_commands

pd = pytest.importorskip("pandas")

#: what is for programs: life.x(...), Lifetime.open, option=value
PYTHON = re.compile(r"life\.\w+|Lifetime|thrifty\.[A-Z]|\b(na|kinds|spend|budget|features)=")


def said(asked) -> str:
    """What whoever typed the command reads."""
    return in_commands(f"{asked.stderr}{asked.exception or ''}")


@pytest.fixture
def ward(tmp_path, monkeypatch):
    """Two months of a ward: numbers with marks for gaps, 5 EUR a test, age for nothing."""
    monkeypatch.setenv("THRIFTY_ROW_SEED", "1")
    rng = np.random.default_rng(0)
    for month, n in (("jan", 240), ("feb", 80)):
        age = rng.integers(20, 90, n)
        tests = {f"t{i}": rng.normal(size=n).round(2).astype(str) for i in range(5)}
        odds = tests["t1"].astype(float) * 2 + (age - 55) / 30
        for name in ("t2", "t3"):
            tests[name] = np.where(rng.random(n) < 0.1, "nicht gemacht", tests[name])
        frame = pd.DataFrame({"patient": [f"{month}{i}" for i in range(n)], "age": age, **tests})
        frame["ill"] = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "krank", "gesund")
        chance = np.random.default_rng(n).random(n)  # of a row, whatever else was drawn
        frame["late"] = np.where(chance < 0.3, "ja", "nein")
        frame.to_csv(tmp_path / f"{month}.csv", index=False)
    (tmp_path / "clinic.yaml").write_text(
        "store: clinic.db\n"
        "source: {csv: jan.csv, id: patient, name: ward, na: [nicht gemacht]}\n"
        "prices: {per_feature: {age: 0, t0: 5, t1: 5, t2: 5, t3: 5, t4: 5}, currency: EUR}\n"
        "budget: 3000 EUR\n"
        "tasks:\n"
        "  - {name: ill, label: ill, spend: 1500 EUR, positive: krank}\n"
        "  - {name: late, label: late, spend: 900 EUR}\n"
    )
    return tmp_path


def test_learn_says_how_good_it_is_what_a_prediction_costs_and_what_is_next(ward):
    told = run("learn", ward / "clinic.yaml").stderr
    figure = r"precision for (krank|gesund): 0\.\d\d \(0\.\d\d to \d\.\d\d\), where guessing"
    assert re.search(figure + r" has 0\.", told), told
    assert re.search(r"A prediction costs at most \d+\.00 EUR a row", told)
    assert "next: thrifty predict NEW.csv --task ill --store" in told
    assert "nothing beyond guessing" in told  # of late, which is drawn at random
    assert "EUR left" in told


def test_on_a_terminal_learn_asks_what_it_may_cost(ward, monkeypatch):
    file = ward / "open.yaml"
    text = (ward / "clinic.yaml").read_text().replace("budget: 3000 EUR\n", "")
    file.write_text(text.replace(", spend: 1500 EUR", ""))
    monkeypatch.setattr("thrifty.commands.learn._on_a_terminal", lambda: True)
    asked = run("learn", file, "--task", "ill", "--store", ward / "t.db", answers="700 EUR\n")
    assert "Everything would cost 6,000 EUR" in asked.stderr and "at most" in asked.stderr
    spent = json.loads(run("bill", ward / "t.db", "--json").stdout)["spent"]
    assert 0 < spent <= 700


def test_a_quote_is_of_all_tasks_and_names_the_budget(ward):
    told = run("quote", ward / "clinic.yaml").stdout
    assert "all 2 tasks: about" in told and "left of the budget: 3,000 EUR" in told
    asked = json.loads(run("quote", ward / "clinic.yaml", "--json", "--budget", "800 EUR").stdout)
    assert asked["budget_left"] == 800 == asked["cost_at_most"] >= asked["cost"]
    assert len(asked["tasks"]) == 2
    short = run("quote", ward / "clinic.yaml", "--budget", "800 EUR").stdout
    assert "not enough" in short and "--budget" in short


def test_a_budget_that_ended_is_raised_by_the_same_command(ward):
    run("learn", ward / "clinic.yaml", "--task", "ill")
    spent = json.loads(run("bill", ward / "clinic.db", "--json").stdout)["spent"]
    new = ward / "new.csv"
    pd.read_csv(ward / "feb.csv").drop(columns=["ill", "late"]).to_csv(new, index=False)
    ask = ["predict", new, "--id", "patient", "--store", ward / "clinic.db", "-o", ward / "a.csv"]
    ended = run(*ask, "--budget", f"{spent + 20} EUR", ok=False)
    assert "--budget" in said(ended) and not PYTHON.search(said(ended))
    run(*ask, "--budget", f"{spent + 5000} EUR")
    rows = list(csv.DictReader((ward / "a.csv").open()))
    assert {"probability", "sure", "stopped", "cells", "cost"} <= set(rows[0])
    assert all(row["ill"] in ("krank", "gesund") for row in rows)
    paid = sum(float(row["cost"]) for row in rows)
    balance = json.loads(run("bill", ward / "clinic.db", "--json").stdout)
    assert balance["left"] == spent + 5000 - balance["spent"], "the budget is kept with the store"
    assert paid <= balance["predictions"]


def test_what_a_note_says_to_type_is_taken_beside_a_task_file_too(ward):
    file = ward / "clinic.yaml"
    file.write_text(file.read_text().replace(", na: [nicht gemacht]", ""))
    assert "--na 'nicht gemacht'" in run("quote", file).stderr
    quiet = run("learn", file, "--na", "nicht gemacht", "--kinds", "t0=number", "--without", "t4")
    assert "note:" not in quiet.stderr and "t4" not in quiet.stderr
    asked = run("predict", file, "--task", "ill", "--budget", "5000 EUR")
    assert "taken for gaps" not in asked.stderr, "it is kept"


def test_a_column_that_was_a_label_needs_no_price_and_a_new_one_is_left_out_or_priced(ward):
    run("learn", ward / "clinic.yaml", "--task", "ill", "--without", "late")
    text = (ward / "clinic.yaml").read_text()
    (ward / "late.yaml").write_text(re.sub(r"  - {name: ill.*\n", "", text))
    run("learn", ward / "late.yaml")
    pd.read_csv(ward / "feb.csv").assign(new=range(80)).to_csv(ward / "more.csv", index=False)
    typed = ["learn", ward / "more.csv", "--label", "ill", "--update", "--id", "patient"]
    typed += ["--store", ward / "clinic.db", "--spend", "90 EUR"]
    refused = said(run(*typed, ok=False))
    assert "'new'" in refused and "prices: in a task file" in refused and "--without" in refused
    assert not PYTHON.search(refused)
    run(*typed, "--without", "new", "--without", "late")


def test_what_is_typed_goes_before_what_the_file_says(ward):
    typed = ["--spend", "200 EUR", "--positive", "gesund"]
    run("learn", ward / "clinic.yaml", "--task", "ill", *typed)
    assert 0 < json.loads(run("bill", ward / "clinic.db", "--json").stdout)["spent"] <= 200
    with thrifty.Lifetime.open(ward / "clinic.db") as life:
        assert life.tasks[0].positive == "gesund"
    wrong = run("learn", ward / "clinic.yaml", "--task", "late", "--positive", "tot", ok=False)
    assert "--positive is one of two classes" in said(wrong) and not PYTHON.search(said(wrong))


def test_what_is_found_to_be_a_gap_is_said_in_commands(ward):
    told = run("learn", ward / "jan.csv", "--label", "ill", "--id", "patient").stderr
    assert "--na 'nicht gemacht'" in told and "--kinds 't2=category'" in told
    assert not PYTHON.search(told)


def test_outcomes_book_what_was_predicted_and_name_the_rest(ward):
    run("learn", ward / "clinic.yaml", "--task", "ill")
    store = ("--id", "patient", "--store", ward / "clinic.db")
    run("predict", ward / "feb.csv", *store, "-o", ward / "a.csv", "--budget", "9000 EUR")
    truth = pd.read_csv(ward / "feb.csv")[["patient", "ill"]]
    truth.loc[len(truth)] = ["nobody", "krank"]
    truth.to_csv(ward / "truth.csv", index=False)
    told = run("outcomes", ward / "truth.csv", "--task", "ill", *store)
    ill = int((truth["ill"] == "krank").sum()) - 1
    assert f"80 outcomes, {ill} krank" in told.output
    assert "nobody" in told.stderr and "80" in told.output


def test_a_limit_is_asked_for_in_commands():
    told = in_commands(
        "'ill' would cost about 90 EUR, and no limit was given. Say spend=, for "
        "instance life.learn('ill', X, y, spend='10 %') for at most 9 EUR, or give the lifetime a "
        "budget, Lifetime(..., budget=thrifty.Budget(total='90 EUR')). spend='100 %' says so."
    )
    assert "Say --spend, for instance --spend '10 %' for" in told
    assert "a budget, --budget '90 EUR'. --spend '100 %' says" in told
    assert not PYTHON.search(told)


def test_columns_that_lack_are_named_and_most_of_them_are_refused(ward):
    run("learn", ward / "clinic.yaml", "--task", "ill")
    few = pd.read_csv(ward / "feb.csv")[["patient", "age"]]
    few.to_csv(ward / "few.csv", index=False)
    ask = ["predict", ward / "few.csv", "--id", "patient", "--store", ward / "clinic.db"]
    refused = run(*ask, ok=False)
    assert "--missing 'ignore'" in said(refused) and "t1" in said(refused)
    assert not PYTHON.search(said(refused))
    assert run(*ask, "--missing", "ignore").stdout.count("\n") == 81


@pytest.mark.parametrize(
    "typed",
    [
        ["learn", "jan.csv", "--label", "nobody"],
        ["learn", "jan.csv", "--label", "ill", "--id", "age"],
        ["learn", "jan.csv", "--label", "ill", "--kinds", "t1"],
        ["learn", "jan.csv", "--label", "ill", "--spend", "0.001 %"],
        ["predict", "feb.csv", "--store", "nowhere.db"],
        ["predict", "feb.csv", "--store", "nowhere.db", "--sure", "3"],
        ["show", "jan.csv"],
        ["store", "forget", "clinic.db"],
        ["store", "rollback", "clinic.db", "ill"],
        ["outcomes", "feb.csv", "--id", "patient", "--label", "ill", "--store", "jan.csv"],
    ],
)
def test_every_message_speaks_in_commands(ward, typed, monkeypatch):
    monkeypatch.chdir(ward)
    asked = run(*typed, ok=False)
    assert typed[-2] != "--kinds" or "--kinds must be NAME=number" in said(asked)
    assert not PYTHON.search(said(asked)), said(asked)


def test_patients_that_are_known_under_another_name_are_not_bought_again_without_a_word(ward):
    """The task file calls them those of "ward"; a table, those of its id column."""
    run("learn", ward / "clinic.yaml", "--task", "ill")
    pd.read_csv(ward / "jan.csv").drop(columns=["ill", "late"]).to_csv(ward / "n.csv", index=False)
    ask = ["predict", ward / "n.csv", "--id", "patient", "--store", ward / "clinic.db"]
    told = run(*ask, "--spend", "0 EUR").stderr
    assert re.search(r"\d+ of 240 ids have values as those of 'ward'.*--source ward", told), told
    same = run(*ask, "--source", "ward", "--budget", "9000 EUR").stderr
    assert "as those of" not in same and re.search(r", [1-9]\d* reused", same), same
