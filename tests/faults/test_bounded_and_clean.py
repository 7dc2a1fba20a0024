"""Strangers' stores take no memory for what they claim; nothing ends in a raw traceback."""

import csv
import json
import resource
import sqlite3

import numpy as np
import pytest

import thrifty
from tests.market import ledger, seller
from tests.shell import run
from thrifty import ChatServer
from thrifty.cells.ledger.answers import redacted
from thrifty.cells.prices.money import read_spend
from thrifty.errors import BadInput, StoreError, ThriftyError
from thrifty.protocol import Cells
from thrifty.stores.settings import names_from_text
from thrifty.testing import FakeProvider


@pytest.mark.parametrize(
    "said",
    [
        {"prefix": "f", "first": 0, "count": 10**11, "width": 0},
        {"prefix": "x", "first": 0, "count": 10**11, "width": 0},
        {"prefix": "f", "first": 0, "count": 1000, "width": 10**9},
        {"prefix": "f" * 10**6, "first": 0, "count": 10**6, "width": 0},
        {"prefix": "f", "first": 10**50, "count": 10**5, "width": 0},
        {"prefix": "f", "first": 0, "count": 1e11, "width": 0},
        {"prefix": "f", "first": 0, "count": -1, "width": 0},
    ],
)
def test_features_that_a_store_claims_take_no_memory(tmp_path, said):
    where = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=where, budget=thrifty.Budget(10**9))
    life.learn("t", np.eye(8, dtype=bool), [0, 1, 0, 0, 0, 0, 0, 0])
    life.close()
    with sqlite3.connect(where) as db:
        db.execute("UPDATE lifetimes SET features = ?", (json.dumps(said),))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(StoreError):
        thrifty.Lifetime.open(where)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert names_from_text('{"prefix": "f", "first": 8, "count": 3, "width": 2}')[2] == "f10"


@pytest.mark.parametrize("column", ["spent", "reserved"])
def test_negative_money_is_no_balance(tmp_path, column):
    where = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=where, budget=thrifty.Budget(10**9))
    provider = FakeProvider()
    ids = [f"p{i}" for i in range(6)]
    source = provider.source(ids, ["a", "b"], prices=1)
    life.learn("t", source, [provider.value(i, "a") for i in ids])
    life.close()
    with sqlite3.connect(where) as db:
        db.execute(f"UPDATE lifetimes SET {column} = -5000000")
    with pytest.raises(StoreError):
        thrifty.Lifetime.open(where).balance()
    again = thrifty.Lifetime.open(where)
    with pytest.raises(StoreError):
        Cells(provider.source(["q"], ["a"], prices=1), ledger=again.ledger, task="u").get([0], [0])


@pytest.mark.parametrize("spend", ["1.2.3 %", ". %", "1..2 %", "%", "1e999999 %"])
def test_a_share_that_is_none_is_said(spend):
    with pytest.raises(BadInput, match="spend must be"):
        read_spend(spend, "", lambda: 1.0)
    life = thrifty.Lifetime()
    with pytest.raises(BadInput):
        life.learn("t", np.eye(8, dtype=bool), [0, 1] * 4, spend=spend)


def test_ids_of_five_thousand_digits_are_refused():
    with pytest.raises(BadInput, match="digits"):
        FakeProvider().source([10**5000, 2], ["a"], prices=1)
    FakeProvider().source([10**900, 2], ["a"], prices=1)


def test_ids_are_compared_in_one_unicode_form():
    composed, decomposed = "Ren\u00e9", "Rene\u0301"
    provider, book = FakeProvider(), ledger()
    first = Cells(provider.source([composed], ["a"], prices=1), ledger=book, task="t")
    second = Cells(provider.source([decomposed], ["a"], prices=1), ledger=book, task="u")
    assert first.get([0], [0]) == second.get([0], [0])
    assert book.balance().spent == 1.0
    with pytest.raises(BadInput, match="distinct"):
        provider.source([composed, decomposed], ["a"], prices=1)
    pd = pytest.importorskip("pandas")
    ask = lambda ids, names: pd.DataFrame([[1]], index=[composed], columns=["b"])  # noqa: E731
    made = seller(ask, [decomposed], ["b"], prices=1)
    assert Cells(made, ledger=book, task="v").get([0], [0]).tolist() == [[1]]


def test_a_table_of_a_feature_that_is_not_there_is_said(tmp_path):
    where = tmp_path / "s.db"
    rng = np.random.default_rng(0)
    X = rng.random((300, 6))
    thrifty.Lifetime(store=where, random_state=0).learn("t", X, X[:, 0] > 0.5)
    with sqlite3.connect(where) as db:
        (text,) = db.execute("SELECT model FROM tasks").fetchone()
        for odd in (4e8, 400_000_000, -7):
            data = json.loads(text)
            data["table"]["features"][0] = odd
            db.execute("UPDATE tasks SET model = ?", (json.dumps(data),))
            db.commit()
            with pytest.raises(ThriftyError):
                thrifty.Lifetime.open(where).predict("t", X)


def test_what_a_spreadsheet_would_run_is_text_in_an_export(tmp_path):
    where, out = tmp_path / "s.db", tmp_path / "cells.csv"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=where, budget=thrifty.Budget(10**9))
    ids = ["+1+cmd|' /C calc'!A0", "=HYPERLINK(1)", "-2", "@SUM(1)", "plain", "\tx"]
    words = ["=1+1", "no"]
    ask = lambda i, n: [["=1+1"] for _ in i]  # noqa: E731
    source = seller(ask, ids, ["+f"], name="=lab", prices=1, kinds={"+f": words})
    Cells(source, ledger=life.ledger, task="-t").get(range(6), [0])
    life.close()
    run("store", "export", where, "--cells", "--out", out)
    rows = list(csv.reader(out.read_text().splitlines()))[1:]
    assert len(rows) == 6
    for row in rows:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in row), row
    assert {row[3] for row in rows} == {"'=1+1"}, "a category by its word"


SECRETS = [
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("aws_secret_access_key=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("key AIzaSyA1234567890abcdefghijklmnopqrstu", "AIzaSyA123"),
    ("token glpat-abcDEF123456_7890xyz", "glpat-abc"),
    ("glpat-abcDEF123456_7890xyz", "glpat-abc"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmN", "eyJzdWIi"),
    ("Authorization: Basic dXNlcjpodW50ZXIy", "dXNlcjpodW50ZXIy"),
    ("basic dXNlcjpodW50ZXIy=", "dXNlcjpodW50ZXIy"),
    ("Cookie: session=abc123; csrf=def456", "abc123"),
    ("Set-Cookie: sid=31d4d96e407aad42; Path=/", "31d4d96e"),
    ("{'Cookie': 'session=abc123'}", "abc123"),
    ("github_pat_11ABCDEFG0123456789", "11ABCDEFG"),
    ("ghs_abcdefghijklmnop", "abcdefghij"),
    ("Authorization: Bearer abc.def-ghi_123", "abc.def-ghi"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_what_opens_other_accounts_is_not_written_down(text, secret):
    assert secret not in redacted(f"the server said {text} and left")
    assert redacted("sodium 140, basic metabolic panel") == "sodium 140, basic metabolic panel"


def test_a_password_in_an_address_is_not_shown():
    shown = repr(ChatServer("m", base_url="https://me:hunter2@llm.example/v1"))
    assert "hunter2" not in shown and "llm.example" in shown
    assert "pässword" not in repr(ChatServer("m", base_url="https://u:pässword@x/v1"))
