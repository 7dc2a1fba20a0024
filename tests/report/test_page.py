"""The report as text: what it says, what it escapes, what it never loads."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import thrifty
from thrifty.powers import Monomials
from thrifty.report import LifetimeView, lineage_of, report_page, save_report, view_of
from thrifty.report.view import LedgerView, PurchaseView, TaskView
from thrifty.report.words import summary
from thrifty.streams.monomial_tasks import monomials

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def data_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found.group(1))


def test_the_page_says_what_happened(view: LifetimeView) -> None:
    page = report_page(view)
    assert "24 tasks learned over 60 features: 4 from scratch, 20 from what earlier" in page
    assert f"Bought {view.cells:,} cells" in page
    assert len(data_of(page)["rows"]) == len(data_of(page)["details"]) == 24


def test_the_page_loads_nothing(view: LifetimeView) -> None:
    page = report_page(view)
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
    task = TaskView("tsh", "scratch", 8, 182.24, 0, 0, 2, 4, 2, {"TSH": 8})
    page = report_page(LifetimeView(tasks=(task,), currency="EUR", prices={"TSH": 22.78}))
    assert "for 182.24 EUR." in page and "spent (EUR)" in page


def test_purchases_in_doubt_are_said_first_hand(view: LifetimeView) -> None:
    doubt = PurchaseView(7, "t", "lab", "doubt", 12, 3.0, 0.0, waits=True)
    said = summary(replace(view, ledger=LedgerView(in_doubt=(doubt,))), lineage_of(view))
    assert said[-1].startswith("1 purchase in doubt")


def test_models_that_are_not_trees_are_shown_as_text() -> None:
    life = thrifty.Lifetime(Monomials(max_degree=4))
    stream = monomials(3, 20, 2, 100, 4, random_state=1)
    for task in stream:
        life.learn(task.name, task.X, task.y)
    page = report_page(view_of(life))
    details = data_of(page)["details"]
    assert [d["text"] for d in details] == [str(t.model) for t in life.tasks]
    assert data_of(page)["metafeatures"][0]["text"] == str(life.tasks[0].model)


def test_two_thousand_tasks_stay_small(view: LifetimeView) -> None:
    many = [replace(view.tasks[i % 24], name=f"task {i}") for i in range(2000)]
    assert len(report_page(replace(view, tasks=tuple(many))).encode()) < 5_000_000


def test_save_report_writes_the_page(life: thrifty.Lifetime, tmp_path) -> None:
    page = save_report(life, tmp_path / "report.html", title="mine")
    assert "What mine learned" in page.read_text(encoding="utf-8")
