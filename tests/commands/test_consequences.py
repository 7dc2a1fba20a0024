"""Options of the command line, by what they change: a bill, an answer."""

import numpy as np
import pytest

import thrifty
from tests.shell import run

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    found = pd.DataFrame(rng.random((500, 30)) < 0.3, columns=[f"f{i}" for i in range(30)])
    found = found.astype(int)
    found.insert(0, "patient", [f"p{i}" for i in range(500)])
    logits = 4.0 * found["f1"] + 3.0 * found["f2"] - 4.0
    found["ill"] = (rng.random(500) < 1 / (1 + np.exp(-logits))).astype(int)
    path = tmp_path_factory.mktemp("table") / "ward.csv"
    found.to_csv(path, index=False)
    return path


def test_spend_and_sure_change_the_bill(table, tmp_path):
    store = tmp_path / "a.db"
    learn = ["learn", table, "--label", "ill", "--id", "patient", "--store", store]
    run(*learn, "--spend", "10 %")
    with thrifty.Lifetime.open(store) as life:
        (task,) = life.tasks
    assert 0.05 * 15_000 < task.receipt.cells <= 0.1 * 15_000
    bills = []
    for given in ([], ["--sure", "0.8"]):
        new = pd.read_csv(table).drop(columns="ill")
        new["patient"] = [f"{len(bills)}-{name}" for name in new["patient"]]
        new.to_csv(tmp_path / "new.csv", index=False)
        run("predict", tmp_path / "new.csv", "--task", "ill", "--id", "patient", "--store", store,
            *given, "-o", tmp_path / "out.csv")  # fmt: skip
        with thrifty.Lifetime.open(store) as life:
            bills.append(life.balance().predictions - sum(bills))
    assert 0 < bills[1] < 0.9 * bills[0]


def test_a_label_is_no_feature_of_later_tasks(table, tmp_path):
    """The second label is the first one again: it would be all that is ever asked."""
    twice = pd.read_csv(table).assign(sick=lambda rows: rows["ill"])
    twice.to_csv(tmp_path / "twice.csv", index=False)
    learn = ["learn", tmp_path / "twice.csv", "--id", "patient", "--store", tmp_path / "b.db"]
    run(*learn, "--label", "ill", "--spend", "10 %")
    run(*learn, "--label", "sick", "--spend", "10 %")
    with thrifty.Lifetime.open(tmp_path / "b.db") as life:
        names = [f"f{i}" for i in range(30)] + ["sick", "ill"]
        used = {names[f] for f in life["sick"].model.table_.features.tolist()}
    assert "f1" in used and "ill" not in used


def test_a_budget_in_money_is_refused_where_cells_have_no_price(table, tmp_path):
    of = ["--id", "patient", "--store", tmp_path / "c.db"]
    learn = ["learn", table, "--label", "ill", *of]
    assert "no cell has a price" in str(run(*learn, "--budget", "9 EUR", ok=False).exception)
    run(*learn, "--spend", "5 %")
    refused = run("predict", table, "--task", "ill", *of, "--budget", "9 EUR", ok=False)
    assert "no cell has a price" in str(refused.exception)
    with thrifty.Lifetime.open(tmp_path / "c.db") as life:
        assert life.budget is None


def test_a_letter_and_its_capital_are_said_to_be_two_categories(table, tmp_path):
    new = pd.read_csv(table).assign(sex=["m", "f", "f", "M", "d"] * 100)
    new.to_csv(tmp_path / "sex.csv", index=False)
    done = run("learn", tmp_path / "sex.csv", "--label", "ill", "--id", "patient")
    assert "'sex' has 'm' and 'M' as two categories" in done.output
    assert "'f' and" not in done.output
