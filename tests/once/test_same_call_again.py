"""A call that broke off and is made again ends as it would have ended, and pays nothing twice."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import thrifty
from tests.crash import Crash, crash_at
from thrifty.cells.ledger.book import on_point
from thrifty.errors import BudgetExceeded, NotBilled
from thrifty.lifetime.task import Task
from thrifty.testing import FakeProvider

N, F = 80, 8
IDS = [f"p{i}" for i in range(N)]
NAMES = [f"f{i}" for i in range(F)]
X = np.random.default_rng(0).normal(size=(N, F)).round(3)
Y = (X[:, 2] + 0.7 * X[:, 5] + 0.3 * np.random.default_rng(1).normal(size=N) > 0).astype(int)
OTHER = (X[:, 5] - X[:, 7] > 0).astype(int)
SPEND = 150.0


class Lost(Exception):
    """The process ends here."""


class Refusing(FakeProvider):
    """Refuses one call, the nth from now."""

    def __init__(self) -> None:
        super().__init__(lambda example, feature: float(X[int(example[1:]), int(feature[1:])]))
        self.refuse_after = -1

    def __call__(self, ids, names, idempotency_key=None):
        self.refuse_after -= 1
        if self.refuse_after == -1:
            raise NotBilled("closed")
        return super().__call__(ids, names, idempotency_key)


provider = Refusing


@contextmanager
def breaks_off(made: Refusing, where: object = "commit"):
    """The process ends before its commit, as on a full disk; or the provider refuses a call."""

    def hook(reached: str) -> None:
        if reached == "before-commit":
            raise Lost

    if isinstance(where, int):
        made.refuse_after = where
        with pytest.raises(NotBilled):
            yield
        return
    on_point(hook)
    try:
        with pytest.raises(Lost):
            yield
    finally:
        on_point(None)


def lab(made: FakeProvider, prices=1, ids=IDS):
    return made.source(
        ids, NAMES, prices=prices, boolean=False, attempts=1, concurrency=1, max_examples=10
    )


def cells_of(made: FakeProvider) -> set[tuple[str, str]]:
    return set(made.bill().cells)


def learned_at_once(tmp_path, prices, **call):
    """What the same call buys where nothing goes wrong."""
    made = provider()
    life = thrifty.Lifetime(store=tmp_path / "once.db", random_state=0)
    learned = life.learn("t", lab(made, prices), Y, **call)
    return made, learned, learned.model.predict(X)


PRICES = {
    "1 each": 1,
    "with a fee": thrifty.PriceList(1, fees={"draw": (2, NAMES[:4])}),
    "with orders": thrifty.PriceList(
        dict.fromkeys(NAMES[5:], 1.0), orders={"panel": (3, NAMES[:3]), "pair": (2, NAMES[3:5])}
    ),
}


@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize("where", [["commit"] * 2, [1, 0, "commit"]], ids=str)
def test_a_task_that_died_is_learned_from_what_it_bought(tmp_path, prices, where):
    listed = PRICES[prices]
    whole, once, values = learned_at_once(tmp_path, listed, spend=SPEND)
    made = provider()
    for moment in where:
        life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
        with breaks_off(made, moment):
            life.learn("t", lab(made, listed), Y, spend=SPEND)
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
    learned = life.learn("t", lab(made, listed), Y, spend=SPEND)
    assert cells_of(made) == cells_of(whole) and not made.bill().twice
    assert learned.receipt.cells == once.receipt.cells
    assert learned.receipt.cost == once.receipt.cost == life.balance().spent <= SPEND
    assert learned.receipt.lines == once.receipt.lines
    assert (learned.model.predict(X) == values).all()


@pytest.mark.parametrize("limit", ["spend", "per task", "total"])
def test_any_limit_holds_and_nothing_is_paid_anew(tmp_path, limit):
    budget = {
        "spend": None,
        "per task": thrifty.Budget(per_task=SPEND),
        "total": thrifty.Budget(total=SPEND),
    }[limit]
    call = {"spend": SPEND} if limit == "spend" else {}
    made = provider()
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0, budget=budget)
    with breaks_off(made):
        life.learn("t", lab(made), Y, **call)
    before, spent = cells_of(made), life.balance().spent
    learned = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0).learn(
        "t", lab(made), Y, **call
    )
    assert cells_of(made) == before and learned.receipt.cost == spent == life.balance().spent


def test_more_money_goes_on_from_what_was_bought(tmp_path):
    made = provider()
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
    with breaks_off(made):
        life.learn("t", lab(made), Y, spend=SPEND)
    learned = life.learn("t", lab(made), Y, spend=2 * SPEND)
    assert learned.receipt.cost == life.balance().spent == sum(made.bill().cells.values())
    assert life.balance().spent <= 2 * SPEND and not made.bill().twice


def test_labels_at_once_and_many_tasks_are_learned_again_for_nothing(tmp_path):
    made = provider()
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
    both = {"a": Y, "b": OTHER}
    with breaks_off(made):
        life.learn(["a", "b"], lab(made), both, spend=SPEND)
    before = cells_of(made)
    life.learn(["a", "b"], lab(made), both, spend=SPEND)
    assert cells_of(made) == before and life.balance().spent == len(before) <= SPEND
    with breaks_off(made):
        life.learn_many([("c", lab(made), OTHER)], spend=SPEND)
    before = cells_of(made)
    life.learn_many([("c", lab(made), OTHER)], spend=SPEND)
    assert cells_of(made) == before
    assert life.bill()["cost"].sum() == life.balance().spent == len(before)


@pytest.mark.parametrize("paid", [True, False], ids=["from a provider", "from a priced table"])
@pytest.mark.parametrize("moment", ["in-commit", "after-commit"])
def test_labels_at_once_are_there_together_or_not_at_all(tmp_path, moment, paid):
    """Else the same call again is refused, for one of its names was learned before."""
    made, both = provider(), {"a": Y, "b": OTHER}

    def table():
        ids = thrifty.Source.from_array(X, examples=IDS, name="clinic", feature_names=NAMES)
        return lab(made) if paid else ids

    life = thrifty.Lifetime(store=tmp_path / "s.db", prices=1, random_state=0)
    with pytest.raises(Crash), crash_at(moment):
        life.learn(["a", "b"], table(), both, spend=SPEND)
    life = thrifty.Lifetime.open(tmp_path / "s.db")
    if not len(life):
        life.learn(["a", "b"], table(), both, spend=SPEND)
    bill = life.bill()
    assert list(life) == ["a", "b"] and bill["cost"].sum() == life.balance().spent <= SPEND
    assert bill["cells"].sum() == bill["cost"].sum()
    assert not paid or bill["cost"].sum() == sum(made.bill().cells.values())


def test_an_update_that_died_is_made_again_for_nothing(tmp_path, monkeypatch):
    made = provider()
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
    half = N // 2
    life.learn("t", lab(made, ids=IDS[:half]), Y[:half], spend=90)
    learned, new = cells_of(made), lab(made, ids=IDS[half:])

    def lost(*_):
        raise Lost

    with monkeypatch.context() as patched:
        patched.setattr(Task, "_commit", lost)
        with pytest.raises(Lost):
            life["t"].update(new, Y[half:], spend=90)
    before = cells_of(made)
    version = life["t"].update(new, Y[half:], spend=90)
    assert cells_of(made) == before and version.receipt.cost == len(before - learned) <= 90
    assert life.balance().spent == life.bill()["cost"].sum() == len(before)


@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize("where", ["commit", 1])
@pytest.mark.parametrize("limit", ["spend", "per task"])
def test_what_an_earlier_run_paid_for_counts_where_its_path_is_left(tmp_path, prices, where, limit):
    """Another task has bought on the same rows meanwhile: the call ends all the same, the limit
    holds, nothing comes twice; and where all had been bought nothing is paid."""
    made, listed = provider(), PRICES[prices]
    budget = None if limit == "spend" else thrifty.Budget(per_task=SPEND)
    call = {"spend": SPEND} if limit == "spend" else {}
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0, budget=budget)
    with breaks_off(made, where):
        life.learn("t", lab(made, listed), Y, **call)
    before = cells_of(made)
    life.learn("other", lab(made, listed), OTHER, **call)
    both = cells_of(made)
    learned = life.learn("t", lab(made, listed), Y, **call)
    assert not made.bill().twice
    mine = life.ledger.book.read(lambda pages: pages.accounts())["t"][1] / 1e6
    assert learned.receipt.cost == mine <= SPEND
    if where == "commit":
        assert cells_of(made) == both and learned.receipt.cells == len(before)


@pytest.mark.parametrize("paid", [False, True])
def test_a_task_with_an_oracle_begun_again_asks_about_the_same_rows(tmp_path, paid):
    asked: list[str] = []

    def ask(ids):
        asked.extend(ids)
        return [bool(Y[int(i[1:])]) for i in ids]

    made = provider()

    def table():
        if paid:
            return lab(made)
        return thrifty.Source.from_array(X, examples=IDS, name="table", feature_names=NAMES)

    def learn(path):
        life = thrifty.Lifetime(store=path, random_state=0, prices=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return life, life.learn("t", table(), thrifty.Oracle(ask, price=2), spend=SPEND)

    _, once = learn(tmp_path / "once.db")
    rows = list(asked)
    asked.clear()
    for where in ["commit", "commit"] if paid else ["commit"] * 2:
        with breaks_off(made, where):
            learn(tmp_path / "s.db")
    life, learned = learn(tmp_path / "s.db")
    assert sorted(asked) == sorted(rows) and len(set(asked)) == len(asked)
    assert (learned.labelled.rows == once.labelled.rows).all()
    assert learned.receipt.cost == once.receipt.cost == life.balance().spent <= SPEND


@pytest.mark.parametrize(
    ("limit", "together", "kept"),
    [
        ({"spend": 120}, False, True),
        ({"per_row": 2}, False, False),
        ({"per_row": 2}, True, True),
        ({"spend": "20 %"}, True, False),
    ],
    ids=str,
)
def test_a_prediction_that_was_refused_spends_its_limit_once(tmp_path, limit, together, kept):
    names = ["t", "u"] if together else "t"

    def predictor(place):
        life = thrifty.Lifetime(store=tmp_path / place if kept else None, random_state=0)
        table = thrifty.Source.from_array(X, feature_names=NAMES)
        life.learn("t", table, Y)
        life.learn("u", table, OTHER)
        return life, life.balance().spent

    life, before = predictor("once.db")
    whole = provider()
    once = life.predict(names, lab(whole), **limit)
    spent = life.balance().spent - before
    life, before = predictor("s.db")
    made = provider()
    for moment in (1, 0):
        with breaks_off(made, moment):
            life.predict(names, lab(made), **limit)
        if kept:
            life = thrifty.Lifetime.open(tmp_path / "s.db")
    again = life.predict(names, lab(made), **limit)
    assert cells_of(made) == cells_of(whole) and not made.bill().twice
    assert life.balance().spent - before == spent == again.receipt.cost == once.receipt.cost
    assert again.receipt.cost_per_row.tolist() == once.receipt.cost_per_row.tolist()
    assert life.bill()["cost"].sum() == life.balance().spent
    # having come to its end it is another call the next time, which has all of it for nothing
    assert life.predict(names, lab(made), **limit).receipt.reused_cells > 0


def test_a_prediction_that_a_budget_refused_spends_its_limit_once(tmp_path):
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
    life.learn("t", thrifty.Source.from_array(X, feature_names=NAMES), Y)
    before = life.balance().spent
    life.change(budget=thrifty.Budget(total=before + 15))
    made = provider()
    with pytest.raises(BudgetExceeded):
        life.predict("t", lab(made), per_row=2)
    assert 0 < life.balance().spent - before <= 15
    life.change(budget=thrifty.Budget(total=before + 500))
    once = life.predict("t", lab(made), per_row=2)
    costs = life.ledger.book.read(lambda p: p.example_costs(p.numbers("example", IDS)))
    assert costs.max() <= 2e6 and (costs / 1e6 == once.receipt.cost_per_row).all()
    assert not made.bill().twice
    assert life.bill()["cost"].sum() == life.balance().spent


class Doctors:
    """Oracles of a table's rows; the first so many calls are answered, then they are closed."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.table, self.asked, self.left = rng.random((300, 3)), [], 10**9
        self.truth = self.table[:, 0] + 0.2 * rng.normal(size=300) > 0.5

    def oracle(self, name: str, price: float, **more) -> thrifty.Oracle:
        def ask(rows):
            self.left -= 1
            if self.left < 0:
                raise NotBilled("closed")
            self.asked.extend((name, row) for row in rows)
            right = self.truth[rows] if name == "doctor" else self.table[rows, 0] > 0.5
            sure = np.abs(self.table[rows, 0] - 0.5) + 0.5
            return list(zip(right.tolist(), sure.tolist())) if more else right

        return thrifty.Oracle(ask, price=price, name=name, attempts=1, max_examples=10, **more)

    def life(self, store=None):
        life = thrifty.Lifetime(prices=0, store=store, random_state=0)
        life.learn("t", self.table[:40], self.truth[:40])
        return life

    def answer(self, life, cascade=False, seed=None, **call):
        some = [self.oracle("cheap", 0.1, confidence=True)] if cascade else []
        call = {"agree": 0.9, "cascade": some, "random_state": seed, **call}
        return life.answer("t", self.table, oracle=self.oracle("doctor", 1), **call)


@pytest.mark.parametrize(
    ("kept", "cascade", "seed"), [(True, True, 0), (False, False, 0), (True, False, None)]
)
def test_an_answer_that_broke_off_asks_about_the_same_rows(tmp_path, kept, cascade, seed):
    """Labels of the call that broke off would certify nothing, and others would be bought."""
    made, once = Doctors(), Doctors()
    life = made.life(tmp_path / "s.db" if kept else None)
    made.left = 7 if cascade else 2
    with pytest.raises(NotBilled):
        made.answer(life, cascade, seed)
    broken, made.left = list(made.asked), 10**9
    answers = made.answer(life, cascade, seed)
    assert broken and len(set(made.asked)) == len(made.asked) > len(broken)
    cost = answers.receipt.cost + sum(one.cost for one in answers.members)
    assert cost == pytest.approx(life.balance().spent) == pytest.approx(life.bill()["cost"].sum())
    assert answers.certificate.cost == answers.receipt.cost or cascade
    if seed is not None:
        whole = once.answer(once.life(), cascade, seed)
        assert sorted(made.asked) == sorted(once.asked)
        assert (answers.values == whole.values).all()
        assert answers.certificate.cost == whole.certificate.cost


def test_an_answer_that_ran_out_of_money_does_not_spend_it_anew(tmp_path):
    made = Doctors()
    life = made.life(tmp_path / "s.db")
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            made.answer(life, agree=0.99, spend=30)
    assert 0 < len(made.asked) == life.balance().spent <= 30
    made.answer(life, agree=0.99, spend=300)
    assert len(made.asked) == len(set(made.asked)) == life.balance().spent > 30
