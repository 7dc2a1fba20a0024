"""What cannot be used says so, and what can be used is no error; through every reader."""

import datetime

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import thrifty
from thrifty.errors import BadInput, BadParameter

pd = pytest.importorskip("pandas")
N = 200


def people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, N),
            "weight": rng.normal(70, 9, N),
            "town": rng.choice(list("xyz"), N),
        }
    )
    return frame, (frame["age"] + rng.normal(0, 3, N) > 50).astype(int).to_numpy()


def by_lifetime(X, y, estimator=None, **given):
    life = thrifty.Lifetime(thrifty.Models(estimator))
    life.learn("t", X, y, **given)
    return life.predict("t", X).probabilities


def by_itself(X, y, estimator=None, **given):
    return thrifty.ModelClassifier(estimator, **given).fit(X, y).predict_proba(X)


READERS = pytest.mark.parametrize("learn", [by_lifetime, by_itself])


@READERS
@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (LinearSVC(), "predict_proba.*CalibratedClassifierCV"),
        (LogisticRegression, "must be a scikit-learn estimator"),
        ("logistic", "must be a scikit-learn estimator"),
    ],
)
def test_estimators_that_lack_something(learn, estimator, said) -> None:
    with pytest.raises(BadParameter, match=f"(?s){said}"):
        learn(*people(), estimator)


@READERS
@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pd.date_range("2020", periods=N), "'odd' holds dates.*days since"),
        ([datetime.date(2020, 1, 1)] * N, "'odd' holds dates.*leave the column out"),
        (pd.period_range("2020", periods=N, freq="D"), "'odd' holds dates"),
        (pd.to_timedelta(np.arange(N), unit="D"), "'odd' holds dates or times"),
        ([f"the patient says {i}" for i in range(N)], "'odd' looks like free text.*kinds="),
        ([[1]] * N, r"'odd' holds a list \(\[1\]\). Turn it into text"),
        ([{"a": 1}] * N, "'odd' holds a dict.*Turn it into text"),
        ([str(i) for i in range(N)], "look like numbers.*kinds="),
        ([-np.inf] + [1.0] * (N - 1), "infinity for odd on example 0. Replace it"),
    ],
)
def test_columns_that_are_no_features(learn, column, said) -> None:
    X, y = people()
    with pytest.raises(BadInput, match=f"(?s){said}"):
        learn(X.assign(odd=column), y)


@READERS
@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.array([[b"a"]] * N), "bytes.*|Decode bytes"),
        (np.array([[1.0, [2]]] * N, dtype=object), "column 1 of X holds a list on example 0"),
        (np.full((N, 2), np.inf), "infinity for x0 on example 0"),
        (np.full((N, 2), np.nan), "all values of all 2 features are missing"),
        (np.array([["2020-01-01"]] * N, dtype="datetime64[D]"), "dates or times"),
    ],
)
def test_arrays_that_are_no_features(learn, X, said) -> None:
    with pytest.raises(BadInput, match=said):
        learn(X, people()[1])


@READERS
@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.zeros(N, int), "one class, 0.*Bring rows of another"),
        (np.r_[1, np.zeros(N - 1, int)], "2 rows at least; 1 has 1"),
        (np.array([None] * N, dtype=object), "every label"),
    ],
)
def test_labels_that_cannot_be_learned(learn, y, said) -> None:
    with pytest.raises(BadInput, match=said):
        learn(people()[0], y)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.array([None, *["a", "b"] * (N // 2 - 1), "a"], dtype=object), "none for example 0"),
        (np.r_[np.nan, np.zeros(N - 1)], "y contains NaN"),
    ],
)
def test_an_estimator_by_itself_leaves_no_row_out(y, said) -> None:
    with pytest.raises(BadInput, match=said):
        by_itself(people()[0], y)


@READERS
def test_a_spend_too_small_names_one_that_works(learn) -> None:
    X, y = people()
    wide = np.random.default_rng(0).random((N, 40)) < 0.3
    for given in (X, wide):
        with pytest.raises(BadInput, match=r"5 rows, which costs 5\. Raise spend="):
            learn(given, y, spend=4)
        assert np.isfinite(learn(given, y, spend=5)).all()


# The readers differ in how they read X, which an estimator that is quick to fit shows as well.
@pytest.mark.parametrize(
    ("learn", "estimator"),
    [(by_lifetime, None), (by_lifetime, LogisticRegression()), (by_itself, LogisticRegression())],
)
@pytest.mark.parametrize(
    "X",
    [
        np.c_[np.ones(N), people()[0]["age"]],
        np.c_[np.full(N, np.nan), people()[0]["age"]],
        np.c_[np.ones(N), np.zeros(N), np.full(N, 7.5)],
        np.zeros((N, 5), dtype=bool),
        people()[0].assign(town=pd.Series([None] * N, dtype=object)),
        people()[0].assign(town=pd.Series([None] * N, dtype="category")),
        people()[0].assign(town=[1 if i % 2 else "a" for i in range(N)]),
    ],
    ids=["constant", "gaps", "all-constant", "no-word", "no-town", "no-category", "mixed"],
)
def test_what_tells_nothing_is_no_error(learn, estimator, X) -> None:
    y = people()[1]
    p = learn(X, y, estimator)
    assert np.isfinite(p).all() and p[:, 1].mean() == pytest.approx(y.mean(), abs=0.15)


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_two_rows_of_a_class_are_enough(estimator) -> None:
    X, _ = people()
    y = np.r_[1, 1, np.zeros(N - 2, int)]
    assert np.isfinite(by_lifetime(X, y, estimator)).all()


@pytest.fixture(scope="module", params=["ours", "given"])
def either(request) -> thrifty.Lifetime:
    """A lifetime that has learned from people: for tests that only ask it."""
    estimator = None if request.param == "ours" else LogisticRegression()
    life = thrifty.Lifetime(thrifty.Models(estimator))
    life.learn("t", *people())
    return life


def test_predictions_on_what_was_never_seen(either) -> None:
    life, (X, _) = either, people()
    for other in (X.assign(town="new"), X.assign(age=np.nan, weight=np.nan, town=None)):
        p = life.predict("t", other).probabilities
        assert np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("age", np.inf, "infinity for age"),
        ("age", "old", "knows 'age' as numbers; X holds texts there"),
        ("age", pd.Timestamp("2020"), "'age' holds dates"),
        ("town", 3.0, "'town' is a category"),
    ],
)
def test_predictions_on_what_cannot_be_read(either, column, value, said) -> None:
    life, (X, _) = either, people()
    other = X.assign(**{column: [value] * N})
    with pytest.raises(BadInput, match=said):
        life.predict("t", other)
    with pytest.raises(BadInput, match=said):
        life["t"].model.predict(other)


def test_predictions_without_a_needed_column(either) -> None:
    life, (X, _) = either, people()
    assert life.predict("t", X[["weight", "town"]], missing="ignore").receipt.lacking == ("age",)
    with pytest.raises(BadInput, match="may ask for '.*' and X does not have it"):
        life.predict("t", X[[]].assign(other=1.5))


@pytest.mark.parametrize("boolean", [False, True])
def test_what_is_owned_needs_no_money(boolean) -> None:
    X = np.random.default_rng(0).normal(size=(N, 5))
    X = X > 0.5 if boolean else X
    life = thrifty.Lifetime()
    life.learn("first", X, X[:, 0] > 0.5, spend="100 %")
    assert life.learn("second", X, X[:, 1] > 0.5, spend="5 %").receipt.cells == 0


def test_a_family_that_is_brought_again_has_its_seed(tmp_path) -> None:
    X, y = people()
    store = tmp_path / "a.db"
    given = thrifty.Models(LogisticRegression())
    thrifty.Lifetime(given, store=store, random_state=3).learn("t", X, y)
    opened = thrifty.Lifetime.open(store, family=thrifty.Models(LogisticRegression()))
    assert opened.family.random_state == 3 and np.isfinite(opened["t"].model.predict_proba(X)).all()
