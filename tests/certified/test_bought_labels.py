"""Labels that are bought: which rows, at which price, and what is learned from them."""

import numpy as np
import pytest

import thrifty
from tests.certified import oracles
from tests.certified.oracles import Counting
from tests.market import table_seller
from thrifty.errors import BadParameter, MixedCurrencies, TaskExists
from thrifty.lifetime.labelling import draw_rows, free_table, unbiased_weights


def made(n: int = 1200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return oracles.made(n, seed, above=0.9)


def test_labels_are_bought_within_the_money_and_a_model_is_learned():
    X, y = made()
    ask = Counting(y)
    life = thrifty.Lifetime(prices=0, random_state=0)
    oracle = thrifty.Oracle(ask, price="0.01 USD")
    learned = life.learn("large", X, oracle, spend="2 USD")
    assert len(ask.asked) == len(set(ask.asked)) == 200 == len(learned.labelled.rows)
    assert learned.receipt.cost == pytest.approx(2.0) == life.balance().spent
    assert learned.receipt.lines[-1] == ("label by oracle", 200, pytest.approx(2.0))
    assert life.bill().cost.sum() == pytest.approx(2.0)
    assert (learned.labelled.values == y[learned.labelled.rows]).all()
    assert np.mean(life.predict("large", X).values == y) > 0.9
    # a certificate begins with what was bought
    answers = life.answer("large", X, oracle=oracle, agree=0.95, random_state=0)
    assert answers.certificate.known == 200 and len(ask.asked) == len(set(ask.asked))
    with pytest.raises(TaskExists):
        life.learn("large", X, oracle, spend="1 USD")


def test_cells_that_cost_are_paid_from_the_same_money():
    X, y = made()
    ask = Counting(y)
    prices = thrifty.PriceList(0.001, currency="USD")
    life = thrifty.Lifetime(prices=prices)
    learned = life.learn("large", X, thrifty.Oracle(ask, price="0.01 USD"), spend="2 USD")
    labels = 0.01 * len(ask.asked)
    assert 1.0 < labels < 2.0 and labels < learned.receipt.cost <= 2.0 + 1e-9
    assert life.balance().spent == pytest.approx(learned.receipt.cost, abs=1e-5)
    assert life.bill().cost.sum() == pytest.approx(life.balance().spent, abs=1e-5)


@pytest.mark.parametrize(("price", "part"), [(0.05, 0.2), (0.5, 0.5), (20.0, 1.0)])
def test_labels_and_cells_compete_by_their_prices(price, part):
    """A row's cells cost 1 in all: all are read for expensive labels, a fifth for cheap ones."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 40)) < 0.3
    ask = Counting(X[:, 0] | X[:, 1])
    life = thrifty.Lifetime(prices=1 / 40, random_state=0)
    spend = 150 * (price + part)
    learned = life.learn("either", X, thrifty.Oracle(ask, price=price), spend=spend)
    assert len(ask.asked) == pytest.approx(150, abs=1)
    cells = learned.receipt.cost - price * len(ask.asked)
    assert 0.85 * 150 * part < cells <= 150 * part + 2 * price


def test_cells_of_a_provider_too(tmp_path):
    X, y = made(300)

    source = table_seller(X, boolean=False, prices=thrifty.PriceList("0.001 USD"))
    ask = Counting(y)
    with thrifty.Lifetime(store=tmp_path / "life.db") as life:
        learned = life.learn("large", source, thrifty.Oracle(ask, price="0.01 USD"), spend="1 USD")
        spent = life.balance().spent
        assert learned.receipt.cost == pytest.approx(spent) and 0.3 < spent <= 1.0 + 1e-9
        assert life.bill().cost.sum() == pytest.approx(spent)
        assert 0.01 * len(ask.asked) < spent


def test_labels_that_are_there_already_are_used():
    X, y = made()
    ask = Counting(y)
    life = thrifty.Lifetime(prices=0)
    oracle = thrifty.Oracle(ask, price=1, known={i: bool(y[i]) for i in range(300)})
    learned = life.learn("large", X, oracle, spend=30)
    assert len(ask.asked) == 30 and min(ask.asked) >= 300
    assert len(learned.labelled.rows) == 330
    assert (learned.labelled.weights[:300] == 0).all()


def test_the_weights_keep_means_unbiased():
    """Of 2,000 draws the mean of the weighted means is within 4 standard errors of the truth."""
    rng = np.random.default_rng(0)
    truth = rng.random(30)
    share = truth + 0.2  # more often where more is true: without weights that is a bias
    means, plain = [], []
    for _ in range(2000):
        order = np.argsort(rng.exponential(size=30) / share)[:12]
        left = share.sum() - (np.cumsum(share[order]) - share[order])
        weights = unbiased_weights(share[order] / left, 30)
        means.append(np.mean(weights * truth[order]))
        plain.append(np.mean(truth[order]))
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - truth.mean()) < 4 * error
    assert np.mean(plain) > truth.mean() + 0.05


def test_uncertain_rows_are_drawn_more_often():
    X, y = made(3000, seed=2)
    table = free_table(thrifty.Source.from_array(X), np.zeros(5))
    known, codes = np.zeros(3000, dtype=bool), np.full(3000, -1)
    asked = []

    def ask(some):
        asked.append(len(some))
        return np.where(some % 50 == 0, -1, y[some])  # of some rows nobody can say

    rows, chances = draw_rows(known, codes, table, ask, 900, np.random.default_rng(0))
    assert asked[0] == 40 and len(asked) < 15  # the more there is, the more at once
    near = np.abs(X[:, 0] + 0.3 * X[:, 1] - 0.9) < 0.15
    assert len(rows) == len(set(rows.tolist())) == 900 and (chances > 0).all()
    assert near[rows[200:]].mean() > 1.15 * near.mean()


def test_bad_input():
    X, y = made(100)
    oracle = thrifty.Oracle(Counting(y), price="0.01 USD")
    with pytest.raises(BadParameter, match="spend="):
        thrifty.Lifetime(prices=0).learn("large", X, oracle)
    with pytest.raises(MixedCurrencies, match="prices=0"):
        thrifty.Lifetime().learn("large", X, oracle, spend="1 USD")
    with pytest.raises(BadParameter, match="Models"):
        thrifty.Lifetime(thrifty.Trees(max_depth=2)).learn("large", X, oracle, spend="1 USD")


def test_lines_of_a_task_with_bought_labels_are_what_it_cost():
    """Cells of a priced table stood on no line once there were lines of labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    ids = [f"p{i}" for i in range(60)]
    table = thrifty.Source.from_array(X, examples=ids, name="ward")
    life = thrifty.Lifetime(prices=dict.fromkeys(table.feature_names, 2), random_state=0)
    oracle = thrifty.Oracle(lambda some: [X[ids.index(i), 0] > 0 for i in some], price=1)
    receipt = life.learn("t", table, oracle, spend=120).receipt
    assert receipt.cells > 0 and len(receipt.lines) == 2
    assert sum(amount for _, _, amount in receipt.lines) == pytest.approx(receipt.cost)
