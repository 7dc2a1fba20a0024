"""Where asking costs whatever is asked, and where a fee is paid once for a row."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.models.purses.account import Account

RATES = thrifty.Rates("0.15 USD", "0.60 USD")


def answers_of(X: np.ndarray, said: list[int]):
    """A model that answers with the rows of a table, and notes about which text it was asked."""

    def ask(prompt: str) -> str:
        row = int(re.search(r"text number (\d+)", prompt).group(1))
        said.append(row)
        asked = [int(j) for j in re.findall(r"Is (\d+) so\?", prompt)]
        return json.dumps({str(i): "yes" if X[row, j] else "no" for i, j in enumerate(asked, 1)})

    return ask


def bank(X: np.ndarray, said: list[int]) -> thrifty.Source:
    texts = {i: f"text number {i}" + " and more" * 60 for i in range(len(X))}
    questions = {f"q{j}": f"Is {j} so?" for j in range(X.shape[1])}
    return thrifty.Source.from_questions(texts, questions, ask=answers_of(X, said), rates=RATES)


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = (rng.random(400) < 0.3).astype(int)
    X = rng.random((400, 60)) < 0.3
    for j in (4, 11, 25):
        X[:, j] ^= (y == 1) & (rng.random(400) < 0.7)
    return X, y


def test_a_text_is_asked_about_once_and_the_money_is_used(table) -> None:
    X, y = table
    said: list[int] = []
    source = bank(X, said)
    spend = 0.12 * source.dry_run().price
    learned = thrifty.Lifetime(thrifty.Models()).learn("so", source, y, spend=spend)
    assert max(Counter(said).values()) == 1
    assert 0.9 * spend <= learned.receipt.cost <= spend
    assert {"q4", "q11", "q25"} & {source.feature_names[f] for f in learned.model.features_}


def test_a_text_is_asked_about_once_for_a_number_too(table) -> None:
    X, _ = table
    amount = 3.0 * X[:, 4] + 2.0 * X[:, 11] + np.random.default_rng(5).normal(size=len(X))
    said: list[int] = []
    source = bank(X, said)
    spend = 0.12 * source.dry_run().price
    learned = thrifty.Lifetime(thrifty.Models()).learn("amount", source, amount, spend=spend)
    assert max(Counter(said).values()) == 1
    assert 0.9 * spend <= learned.receipt.cost <= spend
    assert {"q4", "q11"} <= {source.feature_names[f] for f in learned.model.features_}


def test_a_spend_too_small_for_a_first_look_says_which_is_enough(table) -> None:
    X, y = table
    said: list[int] = []
    with pytest.raises(thrifty.errors.BadInput, match="the smallest useful is"):
        thrifty.Lifetime(thrifty.Models()).learn("so", bank(X, said), y, spend=1e-5)
    assert said == []


def test_the_price_of_a_call_is_in_the_price_of_a_cell(table) -> None:
    X, _ = table
    source = bank(X, [])
    tariff = source.tariff(source.prices)
    alone = np.asarray(tariff.marginal)
    assert (alone > tariff.usual_call / 1e6).all()


FEES = thrifty.PriceList(1, fees={"draw": (9, ["x0", "x1", "x2"]), "visit": (5, ["x2", "x3"])})


def test_looks_cost_together_what_the_door_says() -> None:
    """Every beginning of a list of looks, with fees that are shared by some features."""
    rng = np.random.default_rng(0)
    X, codes = rng.random((40, 4)) < 0.5, (np.arange(40) % 4 == 0).astype(int)
    for seed in range(20):
        cells = Cells(X, FEES)
        account = Account(cells, codes, 1e9, np.random.default_rng(seed))
        for _ in range(3):
            features = rng.permutation(4)[: rng.integers(1, 5)]
            a, b = rng.integers(0, 11, len(features)), rng.integers(0, 31, len(features))
            for n in range(1, len(features) + 1):
                expected = 0.0
                had = [
                    set(account.rare[: account.a[f]]) | set(account.others[: account.b[f]])
                    for f in range(4)
                ]
                for row in range(40):
                    new = [
                        f
                        for f, m, k in zip(features[:n], a, b)
                        if row not in had[f] and row in {*account.rare[:m], *account.others[:k]}
                    ]
                    owned = [f for f in range(4) if row in had[f]]
                    expected += cells.price_between(owned, [*owned, *new])
                assert account.cost(features[:n], a[:n], b[:n]).sum() == pytest.approx(expected)
            account.look(features, a, b)
            assert cells.receipt().cost == pytest.approx(account._counted)


def test_a_fee_once_a_row_does_not_stop_a_wide_task_early(table) -> None:
    X, y = table
    names = [f"x{j}" for j in range(X.shape[1])]
    prices = thrifty.PriceList(1, fees={"visit": (12, names)})
    life = thrifty.Lifetime(thrifty.Models(), prices=prices)
    spend = 0.1 * 400 * 72
    source = thrifty.Source.from_array(X, feature_names=names)
    assert 0.9 * spend <= life.learn("so", source, y, spend=spend).receipt.cost <= spend
