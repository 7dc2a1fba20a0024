"""Where asking costs whatever is asked, and where a fee is paid once for a row."""

import json
import re
from collections import Counter

import numpy as np
import pytest

import thrifty

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


@pytest.mark.parametrize("numbers", [False, True])
def test_a_text_is_asked_about_once_and_the_money_is_used(table, numbers) -> None:
    X, y = table
    if numbers:
        y = 3.0 * X[:, 4] + 2.0 * X[:, 11] + np.random.default_rng(5).normal(size=len(X))
    said: list[int] = []
    source = bank(X, said)
    spend = 0.12 * source.dry_run().price
    learned = thrifty.Lifetime(thrifty.Models()).learn("so", source, y, spend=spend)
    assert max(Counter(said).values()) == 1
    assert 0.9 * spend <= learned.receipt.cost <= spend
    found = {"q4", "q11", "q25"} & {source.feature_names[f] for f in learned.model.features_}
    assert {"q4", "q11"} <= found if numbers else found


def test_a_spend_too_small_for_a_first_look_says_which_is_enough(table) -> None:
    X, y = table
    said: list[int] = []
    with pytest.raises(thrifty.errors.BadInput, match="the smallest useful sample") as refused:
        thrifty.Lifetime(thrifty.Models()).learn("so", bank(X, said), y, spend=1e-5)
    assert said == []
    enough = float(re.search(r"which costs (\S+)\. ", str(refused.value)).group(1))
    learned = thrifty.Lifetime(thrifty.Models()).learn("so", bank(X, said), y, spend=enough)
    assert 0 < learned.receipt.cost <= enough


def test_the_price_of_a_call_is_in_the_price_of_a_cell(table) -> None:
    X, _ = table
    source = bank(X, [])
    tariff = source.tariff(source.prices)
    alone = np.asarray(tariff.marginal)
    assert (alone > tariff.usual_call / 1e6).all()


def test_a_fee_once_a_row_does_not_stop_a_wide_task_early(table) -> None:
    X, y = table
    names = [f"x{j}" for j in range(X.shape[1])]
    prices = thrifty.PriceList(1, fees={"visit": (12, names)})
    life = thrifty.Lifetime(thrifty.Models(), prices=prices)
    spend = 0.1 * 400 * 72
    source = thrifty.Source.from_array(X, feature_names=names)
    assert 0.9 * spend <= life.learn("so", source, y, spend=spend).receipt.cost <= spend
