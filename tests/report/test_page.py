"""The report as text: what it says, what it escapes, what it never loads."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import thrifty
from tests.loops import one_by_one, paper
from thrifty.cells import Balance, Receipt
from thrifty.cells.ledger.ledger import OpenPurchase
from thrifty.powers import Monomials
from thrifty.report import LifetimeView, report_page, view_of
from thrifty.report.pages import cards_of, moment, summary
from thrifty.report.pictures import prediction_prices
from thrifty.report.view import LedgerView, TaskView
from thrifty.streams.power_tasks import monomials

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def data_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found.group(1))


@pytest.fixture(scope="module")
def page(view: LifetimeView) -> str:
    return report_page(view)


def test_the_page_says_what_happened(view: LifetimeView, page: str) -> None:
    assert f"24 tasks learned over 60 features, from {view.cells:,} cells" in page
    assert "Of 24 tasks: 4 from scratch, 20 from what earlier tasks had taught." in page
    assert len(data_of(page)["rows"]) == len(data_of(page)["details"]) == 24


def test_the_page_loads_nothing(page: str) -> None:
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert addresses and all(a.startswith(("data:", "#")) for a in addresses)
    assert "default-src 'none'" in page
    assert "@import" not in page and "url(" not in page


def test_names_cannot_become_markup(view: LifetimeView) -> None:
    first = replace(view.tasks[0], name=HOSTILE, failure=HOSTILE)
    page = report_page(replace(view, title=HOSTILE, tasks=(first, *view.tasks[1:])))
    assert "<script>alert" not in page and "<img src=x" not in page
    assert data_of(page)["rows"][0][1] == HOSTILE


def test_features_with_odd_names_are_drawn(life: thrifty.Lifetime) -> None:
    frame_names = [f"<b>${i}$ & 'x'\u2028" for i in range(60)]
    page = report_page(replace(view_of(life), feature_names=tuple(frame_names)))
    assert "<b>" not in page.split("</style>")[1]


def test_an_empty_lifetime_is_a_friendly_page() -> None:
    page = report_page(LifetimeView(title="new"))
    assert "Nothing has been learned yet" in page
    assert 'id="tasks"' not in page


def test_money_is_in_the_users_currency() -> None:
    task = TaskView("tsh", "scratch", Receipt(8, 182.24, 0, 0, 2, 4, 2, {"TSH": 8}))
    page = report_page(LifetimeView(tasks=(task,), currency="EUR"))
    assert "Learning cost 182.24 EUR." in page and "spent on learning (EUR)" in page


def test_money_without_a_name_is_a_number() -> None:
    lines = (("TSH?", 8, 4200.0),)
    task = TaskView("tsh", "bought", Receipt(8, 4200.0, 0, 0, 2, 4, 2, {"TSH?": 8}, lines=lines))
    page = report_page(LifetimeView(tasks=(task,)))
    assert "Learning cost 4,200." in page and "(money)" not in page and "0 money" not in page
    assert "Most went to “TSH?”." in page


def test_tiles_count_what_was_spent_before_anything_is_learned() -> None:
    balance = Balance(7.5, 2.0, "EUR", 90.5, learning=7.5)
    view = LifetimeView(currency="EUR", balance=balance)
    assert "would have cost" not in report_page(view)
    cards = {c.name: c.value for c in cards_of(view)}
    assert (cards["learning"], cards["reserved"], cards["left"]) == ("7.50", "2", "90.50")


@pytest.fixture(scope="module")
def priced() -> thrifty.Lifetime:
    """The default model on names that are markup, with prices, a budget and a prediction."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            HOSTILE: rng.normal(size=300).round(2),
            "ward": rng.choice(["<b>north</b>", "south"], 300),
            "noise": rng.normal(size=300).round(2),
        }
    )
    ill = (frame[HOSTILE] + (frame["ward"] == "south") + rng.normal(size=300) > 1).to_numpy()
    life = thrifty.Lifetime(
        prices=thrifty.PriceList(0.5, currency="EUR"),
        budget=thrifty.Budget(total="1000 EUR"),
        random_state=0,
    )
    life.learn("ill", frame, ill)
    life.predict("ill", frame.iloc[:20])
    return life


def test_the_one_who_pays_sees_money_quality_and_the_card(priced: thrifty.Lifetime) -> None:
    view = view_of(priced)
    page, balance = report_page(view), priced.balance()
    assert f"Predictions have cost {view.money(balance.predictions)}." in page
    assert f"Of the budget of 1,000 EUR, {view.money(balance.left)} is left." in page
    row, detail = data_of(page)["rows"][0], data_of(page)["details"][0]
    measured = priced["ill"].model.quality_.average_precision
    assert row[6] == f"AP of True {measured}" and row[5] == round(measured.value, 4)
    assert str(measured) in " ".join(detail["said"])
    assert ["ward", "<b>north</b>"] in [line[:2] for line in detail["card"]["lines"]]
    assert "<b>north" not in page and HOSTILE not in page
    (asked,) = view.beside
    assert asked["examples"] == 20 and moment(asked["at"])[:4].isdigit()
    assert moment(asked["at"]) in page


def test_metafeatures_are_for_the_curious(page: str) -> None:
    shown = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)
    before, _, after = shown.partition('id="representation"')
    assert "etafeature" not in before and "etafeature" in after


def test_trees_over_bits_are_shown_by_the_names_of_the_bits() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.random(200) < 0.5, "ward": rng.choice(["north", "south"], 200)})
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), prices={"a": 1.0, "ward": 5.0})
    life.learn("south", frame, (frame["ward"] == "south").to_numpy())
    view = view_of(life)
    assert "ward" in view.name_of(view.tasks[0].tree.split.feature)
    (price,) = prediction_prices(view)
    assert price.at_most == 5.0


def test_purchases_in_doubt_are_said_first_hand(view: LifetimeView) -> None:
    doubt = OpenPurchase(7, "doubt", "t", "lab", 3.0, "", ("p1",), ("a", "b"), 0.0, "key", "")
    said = summary(replace(view, ledger=LedgerView(in_doubt=(doubt,))))
    assert said[-1].startswith("1 purchase in doubt")
    assert "thrifty resolve STORE 7 --not-billed" in report_page(
        replace(view, ledger=LedgerView(in_doubt=(doubt,)))
    )


def test_models_that_are_not_trees_are_shown_as_text() -> None:
    life = one_by_one(monomials(3, 20, 2, 100, 4, random_state=1), Monomials(max_degree=4))
    page = report_page(view_of(life))
    details = data_of(page)["details"]
    assert [d["text"] for d in details] == [str(t.model) for t in life.tasks]
    assert html.escape(str(life.tasks[0].model)) in page.partition('id="representation"')[2]


def test_two_thousand_tasks_stay_small(view: LifetimeView) -> None:
    many = [replace(view.tasks[i % 24], name=f"task {i}") for i in range(2000)]
    page = report_page(replace(view, tasks=tuple(many)))
    assert len(page.encode()) < 5_000_000
    assert "Drawn are the 25 of 2,000 tasks that cost most." in page


def table_of(page: str, name: str) -> list[list[str]]:
    """The cells of a table of the page, row by row."""
    found = re.search(rf'<table id="{name}">(.*?)</table>', page, re.S)
    assert found is not None
    rows = re.findall(r"<tr>(.*?)</tr>", found.group(1), re.S)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]


def test_the_page_is_a_laboratorys_bill() -> None:
    """Three patients to learn from, two to predict: panels and draws, summed to the cent."""
    names = ["Na", "K", "age"]
    prices = thrifty.PriceList(
        {"Na": "4.81", "K": "4.76", "age": 0},
        orders={"electrolytes": ("7.01", ["Na", "K"])},
        fees={"blood draw": ("9.09", ["Na", "K"])},
        currency="USD",
    )
    frame = pd.DataFrame([[0, 0, 1], [1, 0, 1], [1, 1, 0]], columns=names)
    life = thrifty.Lifetime(paper(3), prices=prices)
    life.learn("ill", frame, [0, 0, 1])
    life.predict("ill", pd.DataFrame([[1, 0, 1], [1, 1, 1]], columns=names))
    page = report_page(view_of(life))
    learned, asked = table_of(page, "itemised"), table_of(page, "itemised-predictions")
    assert learned[1:] == [
        ["blood draw", "3", "27.27"],
        ["electrolytes", "3", "21.03"],
        ["in all", "", "48.30"],
    ]
    assert [row[:2] for row in asked[1:-1]] == [["blood draw", "2"], ["K", "2"]]
    assert asked[-1][2] == "27.70"
    assert float(asked[-1][2]) == life.balance().predictions


def test_the_share_that_was_bought_counts_predictions_and_lines_are_by_time() -> None:
    X = np.random.default_rng(0).normal(size=(120, 4))
    life = thrifty.Lifetime(prices=thrifty.PriceList(1, currency="EUR"), random_state=0)
    life.learn("ill", X, X[:, 0] > 0, spend="100 EUR")
    life.predict("ill", X[:50] + 1)
    life["ill"].update(X[:40] + 2, X[:40, 0] > 0, spend=60)
    life.predict("ill", X[:30] + 3)
    view, balance = view_of(life), life.balance()
    assert view.bought == balance.spent
    part = 100 * balance.spent / balance.everything_cells
    card = next(card for card in cards_of(view) if card.name == "share")
    assert card.value == f"{part:.1f} %" and card.value[:-2] in summary(view)[0]
    told = report_page(view).split('id="beside"')[1].split("<tbody")[1]
    assert re.findall(r"<td>(prediction|update)", told) == ["prediction", "update", "prediction"]
