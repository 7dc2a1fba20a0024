"""A column of the bill is declared once: everything that shows a bill has it then."""

import json

import numpy as np
import pytest

import thrifty
from tests.shell import run
from thrifty.lifetime.bill import COLUMNS, BillColumn
from thrifty.report import report_page
from thrifty.report.pages import task_row
from thrifty.report.view import read_store

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


@pytest.fixture
def store(tmp_path):
    place = str(tmp_path / "bill.db")
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=place)
    life.learn("either", X, [0, 1, 1, 1])
    life.predict("either", X + 0)
    return place


@pytest.fixture
def added():
    """One more column, in the one list."""
    column = BillColumn(
        "looked_at",
        lambda receipt: 1000 * (receipt.cells + receipt.reused_cells),
        nothing=7,
        tasks_heading="Looked at",
        beside_heading="Looked at too",
    )
    COLUMNS.append(column)
    yield column
    COLUMNS.remove(column)


def test_without_it_nothing_shows_it(store):
    life = thrifty.Lifetime.open(store)
    assert all("looked_at" not in row for row in life._bill_rows())
    assert "Looked at" not in report_page(read_store(store))


def test_a_column_is_added_in_one_place(store, added, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # of the terminal
    life = thrifty.Lifetime.open(store)
    assert [row["looked_at"] for row in life._bill_rows()] == [8000, 6000]
    assert list(life.bill()["looked_at"]) == [8000, 6000]
    printed = run("bill", store).stdout
    assert "looked_at" in printed and "8,000" in printed and "6,000" in printed
    told = json.loads(run("bill", store, "--json").stdout)
    assert told["tasks"][0]["looked_at"] == 8000 and told["beside"][0]["looked_at"] == 6000
    view = read_store(store)
    assert view.beside[0]["looked_at"] == 6000
    row = task_row(0, view.tasks[0])
    page = report_page(view)
    assert row[-1] == 8000 and f'data-column="{len(row) - 1}">Looked at<' in page
    assert ">Looked at too<" in page and ">6,000<" in page


def test_what_was_paid_for_and_not_learned_has_it_too(added):
    from thrifty.lifetime.bill import rows_beside

    (row,) = rows_beside({}, [], {"stroke": (0, 5_000_000)})
    assert row["looked_at"] == 7 and row["route"] == "not learned"
