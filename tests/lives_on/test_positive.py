"""The class of interest: said by the user or found by one rule, kept, the same in every place."""

import numpy as np
import pytest

import thrifty
from thrifty import Source
from thrifty.errors import BadInput, BadParameter, RowsLeftOut
from thrifty.lifetime.outcomes import read_monitors
from thrifty.report.pages import report_page
from thrifty.report.view import view_of

N = 300


def table(seed=0):
    X = np.random.default_rng(seed).normal(size=(N, 3))
    return X, X[:, 0] > 1.0  # one in six is ill


def source(X, start=0):
    ids = [f"p{start + i}" for i in range(len(X))]
    return Source.from_array(X, examples=ids, name="clinic")


@pytest.mark.parametrize(
    ("words", "positive"),
    [
        (("well", "ill"), "ill"),  # the rarer
        (("ill", "well"), "well"),
        (("nein", "ja"), "ja"),
        (("Yes", "no"), "Yes"),  # whatever is rarer
        ((False, True), True),
        ((1, 0), 1),
        ((2, 1), 1),
    ],
)
def test_one_rule(words, positive, tmp_path):
    X, rare = table()
    y = np.where(rare, words[1], words[0])
    with thrifty.Lifetime(store=tmp_path / "s.db", random_state=0) as life:
        learned = life.learn("t", X, y, spend="50 %")
        assert learned.positive == positive and type(learned.positive) is type(positive)
    with thrifty.Lifetime.open(tmp_path / "s.db") as life:
        assert life.tasks[0].positive == positive


@pytest.mark.parametrize("said", ["ill", "well"])
def test_what_the_user_said_counts_in_outcomes_and_stays(said, tmp_path):
    X, rare = table()
    y = np.where(rare, "ill", "well")
    with thrifty.Lifetime(store=tmp_path / "s.db", random_state=0) as life:
        life.learn("t", source(X), y, spend="50 %", positive=said)
        new, ill = table(1)
        life.predict("t", source(new, N))
        truth = np.where(ill, "ill", "well")
        seen = life["t"].outcomes([f"p{N + i}" for i in range(N)], truth)
        assert seen.positive == said and seen.positives == (truth == said).sum()
        assert seen.expected == pytest.approx(seen.seen, abs=0.1)
        assert seen.auroc > 0.8 and seen.auroc_learned > 0.8
        assert f"{seen.positives} {said}" in str(seen)
        (read,) = life.ledger.book.read(read_monitors)
        assert (read.positive, read.positives) == (said, seen.positives)
        life["t"].update(source(new, N), truth, spend=500)
    with thrifty.Lifetime.open(tmp_path / "s.db") as life:
        assert life.tasks[0].positive == said
        assert [one.positive for one in life.ledger.book.read(read_monitors)] == [said]


def test_several_tasks_have_one_each():
    X, rare = table()
    Y = {"a": np.where(rare, "ill", "well"), "b": np.where(X[:, 1] > 1, "sick", "fine")}
    life = thrifty.Lifetime(random_state=0)
    many = life.learn(["a", "b"], X, Y, spend="50 %", positive={"a": "well"})
    assert (many["a"].positive, many["b"].positive) == ("well", "sick")
    with pytest.raises(BadParameter, match="'c'"):
        life.learn(["d", "e"], X, dict(zip("de", Y.values())), spend="50 %", positive={"c": 1})


def test_nothing_is_bought_for_a_class_that_is_none():
    X, rare = table()
    life = thrifty.Lifetime(random_state=0)
    with pytest.raises(BadInput, match="'sick'"):
        life.learn("t", X, np.where(rare, "ill", "well"), spend="50 %", positive="sick")
    with pytest.raises(BadInput, match="numbers"):
        life.learn("u", X, X[:, 0], spend="50 %", positive=1)
    assert life.balance().spent == 0


def test_rows_that_were_never_predicted_are_named_and_the_others_booked():
    X, rare = table()
    life = thrifty.Lifetime(store=thrifty.stores.MemoryStore(), random_state=0)
    life.learn("t", source(X), rare, spend="50 %")
    life.predict("t", source(X[:50], N))
    ids = [f"p{N + i}" for i in range(50)] + ["p9999"]
    with pytest.warns(RowsLeftOut, match="'t'.*p9999"):
        seen = life["t"].outcomes(ids, [*rare[:50], True])
    assert seen.outcomes == 50 and seen.unknown == ("p9999",)


def average_precision(scores, y):
    order = np.argsort(-scores)
    hits = np.cumsum(y[order])
    return float((hits / np.arange(1, len(y) + 1))[y[order]].mean())


@pytest.mark.parametrize("said", ["ill", "well"])
def test_quality_scorecard_summary_show_and_report_are_of_the_same_class(said, tmp_path):
    X, rare = table()
    y = np.where(rare, "ill", "well")
    with thrifty.Lifetime(store=tmp_path / "s.db", random_state=0) as life:
        learned = life.learn("t", source(X), y, spend="100 %", positive=said)
        assert learned.quality.guessing == pytest.approx((y == said).mean(), abs=0.02)
        assert f"Average precision for {said}: " in learned.summary()
    with thrifty.Lifetime.open(tmp_path / "s.db") as life:
        model = life["t"].model
        assert model.classes_[model.quality_.positive] == said
        assert list(model.card_.base) == [said] and {row.for_class for row in model.card_} == {said}
        new, ill = table(1)
        p = model.predict_proba(new)[:, list(model.classes_).index(said)]
        truth = np.where(ill, "ill", "well") == said
        found = model.quality_.average_precision
        assert found.low - 0.05 <= average_precision(p, truth) <= found.high + 0.05
        # more points of the class mean more of it: of two rows, the one with x0 above 1 is ill
        points = [row.points for row in model.card_ if row.feature == "x0"]
        assert (points[-1] > points[0]) == (said == "ill")
        shown = life["t"].show()
        assert f"double the odds of {said}." in shown and f"of {said}, where guessing" in shown
        assert f"AP of {said} " in report_page(view_of(life))
        life["t"].update(source(table(2)[0], N), np.where(table(2)[1], "ill", "well"), spend=900)
        again = life["t"].model
        assert again.classes_[again.quality_.positive] == said and list(again.card_.base) == [said]


@pytest.mark.parametrize("estimator", [None, thrifty.estimators.ScorecardClassifier()])
def test_estimators_on_their_own_follow_the_rule(estimator):
    X, rare = table()
    for words, positive in ((("well", "ill"), "ill"), (("yes", "no"), "yes")):
        y = np.where(rare, words[1], words[0])
        model = thrifty.ModelClassifier(estimator, spend="100 %").fit(X, y)
        assert list(model.card_.base) == [positive]
        assert model.classes_[model.quality_.positive] == positive
        if estimator is not None:
            assert list(estimator.fit(X, y).card_.base) == [positive]
            kept = type(estimator).from_dict(estimator.to_dict())
            assert list(kept.card_.base) == [positive]
