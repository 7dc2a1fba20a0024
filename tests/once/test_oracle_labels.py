"""A bought label is the one that was said, of the row it was said of, and is paid for once."""

import numpy as np
import pytest

import thrifty
from tests.market import seller
from thrifty.errors import BadInput, MalformedAnswer

pandas = pytest.importorskip("pandas")


def made(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    return X, X[:, 0] + 0.05 * rng.normal(size=n) > 0.5


@pytest.mark.parametrize("classes", [(True, False), (1, 0), (1.0, 0.0), (False, True), (0, 1)])
def test_a_label_means_the_same_in_whatever_order_the_classes_are_listed(classes):
    X, y = made()
    oracle = thrifty.Oracle(lambda rows: y[rows], price="0.01 USD", classes=classes)
    life = thrifty.Lifetime(prices=0, random_state=0)
    learned = life.learn("large", X, oracle, spend="1.50 USD")
    assert (learned.labelled.values == y[learned.labelled.rows]).all()
    assert np.mean(life.predict("large", X).values == y) > 0.8
    answers = life.answer("large", X, oracle=oracle, agree=0.95, random_state=0)
    assert np.mean(answers.values == y) >= 0.95
    assert (answers.values[answers.by_oracle] == y[answers.by_oracle]).all()


def test_known_labels_and_bought_ones_agree_in_whatever_order_the_classes_are_listed():
    X, y = made()
    known = {row: bool(y[row]) for row in range(20)}
    oracle = thrifty.Oracle(lambda rows: y[rows], price=1, classes=(True, False), known=known)
    learned = thrifty.Lifetime(prices=0).learn("large", X, oracle, spend=60)
    assert (learned.labelled.values == y[learned.labelled.rows]).all()


def test_labels_of_a_row_are_bought_once_whichever_version_is_answered_with(tmp_path):
    X, y = made(900)
    asked: list[int] = []

    def ask(rows):
        asked.extend(rows)
        return y[300:][rows]

    life = thrifty.Lifetime(prices=0, store=tmp_path / "s.db", random_state=0)
    life.learn("t", X[:150], y[:150])
    life["t"].update(X[150:300], y[150:300])
    oracle = thrifty.Oracle(ask, price=1)
    for name in ("t@1", "t@2", "t", "t@1"):
        life.answer(name, X[300:], oracle=oracle, agree=0.95, random_state=0)
    assert len(asked) == len(set(asked)) == life.balance().spent


def test_labels_of_a_row_are_bought_once_where_cheaper_ones_are_asked_before():
    X, y = made(900)
    asked: list[int] = []

    def ask(rows):
        asked.extend(rows)
        return y[300:][rows]

    def guess(rows):
        return [(bool(X[300 + row, 0] > 0.5), 0.8) for row in rows]

    life = thrifty.Lifetime(prices=0, random_state=0)
    life.learn("t", X[:150], y[:150])
    life["t"].update(X[150:300], y[150:300])
    oracle = thrifty.Oracle(ask, price=1)
    cheap = thrifty.Oracle(guess, price=0.1, name="cheap", confidence=True)
    for name in ("t@1", "t@2", "t"):
        given = {"oracle": oracle, "agree": 0.95, "cascade": [cheap], "random_state": 0}
        assert life.answer(name, X[300:], **given).prediction is not None
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("ids", [None, [f"p{i}" for i in range(60)]])
def test_an_oracles_series_is_matched_by_its_index(ids):
    X, y = made(60)
    names = list(range(60)) if ids is None else ids
    truth = pandas.Series(y, index=names).iloc[::-1]
    table = X if ids is None else thrifty.Source.from_array(X, examples=ids, name="people")

    def ask(rows):
        return truth[truth.index.isin(rows)]  # in the order of the truth, not as asked

    learned = thrifty.Lifetime(prices=0).learn("t", table, thrifty.Oracle(ask, price=1), spend=60)
    assert (learned.labelled.values == y[learned.labelled.rows]).all()


def test_a_series_of_a_frames_own_rows_is_matched_by_the_frames_index():
    X, y = made(60)
    order = np.random.default_rng(1).permutation(60)
    frame = pandas.DataFrame(X, index=order, columns=list("abcd"))
    truth = pandas.Series(y, index=order)
    for ask in (lambda rows: truth.iloc[rows], lambda rows: truth.iloc[rows].to_numpy()):
        oracle = thrifty.Oracle(ask, price=1, known=truth.iloc[::-1].where(truth.index < 5, None))
        learned = thrifty.Lifetime(prices=0).learn("t", frame, oracle, spend=50)
        assert (learned.labelled.values == y[learned.labelled.rows]).all()


def test_labels_of_other_rows_and_masked_ones_are_no_labels():
    X, y = made(60)
    ask_others = lambda rows: pandas.Series(y[rows], index=[r + 1000 for r in rows])  # noqa: E731
    masked = lambda rows: np.ma.array(y[rows], mask=[True] * len(rows))  # noqa: E731
    for ask in (ask_others, masked):
        with pytest.raises(MalformedAnswer):
            thrifty.Lifetime(prices=0).learn("t", X, thrifty.Oracle(ask, price=1), spend=50)
    known = pandas.Series(y, index=np.arange(60) + 7)
    oracle = thrifty.Oracle(lambda rows: y[rows], price=1, known=known)
    with pytest.raises(BadInput, match="index"):
        thrifty.Lifetime(prices=0).learn("t", X, oracle, spend=50)


def test_what_lies_under_a_mask_is_not_known():
    X, y = made(60)
    wrong = np.ma.array(~y, mask=[True] * 60)
    oracle = thrifty.Oracle(lambda rows: y[rows], price=1, known=wrong)
    learned = thrifty.Lifetime(prices=0).learn("t", X, oracle, spend=60)
    assert (learned.labelled.values == y[learned.labelled.rows]).all()
    assert learned.receipt.cost == len(learned.labelled.rows)


IDS = [f"p{i}" for i in range(6)]


def shuffled(ids, values):
    return pandas.Series(dict(zip(ids, values))).iloc[::-1]


def test_costs_and_failures_by_index_belong_to_the_examples_they_name():
    def fn(ids, names):
        values = [[float(i[1:])] for i in ids]
        cost = shuffled(ids, [(i != "p2") * (1.0 + int(i[1:]) / 10) for i in ids])
        failed = shuffled(ids, ["not-billed" if i == "p2" else "" for i in ids])
        return thrifty.Answered(values, cost=cost, failed=failed)

    life = thrifty.Lifetime(thrifty.Trees())
    source = seller(fn, IDS, ["a"], prices=2, boolean=False, attempts=1, tries=1)
    cells = thrifty.protocol.Cells(source, ledger=life.ledger, task="t")
    with pytest.raises(thrifty.errors.ThriftyError):  # p2 fails, and its source stops
        cells.get(range(6), [0])
    costs = life.ledger.book.read(lambda p: p.example_costs(p.numbers("example", IDS)))
    assert cells.owned_rows([0]).tolist() == [0, 1, 3, 4, 5]
    assert (costs / 1e6).tolist() == pytest.approx([1.0, 1.1, 0.0, 1.3, 1.4, 1.5])


@pytest.mark.parametrize("what", ["cost", "failed"])
def test_costs_and_failures_of_other_examples_are_no_answer(what):
    def fn(ids, names):
        odd = pandas.Series([1.0 if what == "cost" else ""] * len(ids))
        return thrifty.Answered([[1.0]] * len(ids), **{what: odd})

    life = thrifty.Lifetime(thrifty.Trees())
    source = seller(fn, IDS, ["a"], prices=2, boolean=False)
    with pytest.raises(MalformedAnswer, match="index"):
        thrifty.protocol.Cells(source, ledger=life.ledger, task="t").get(range(6), [0])
    assert len(life.ledger.open_purchases()) == 1
