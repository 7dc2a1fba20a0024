"""The family of polynomials: what it learns, what it refuses, and what it says then."""

import json

import numpy as np
import pytest
from scipy import stats

import thrifty
from paper_tables.known_target import ExactCorrelations, KnownTarget
from thrifty.errors import BadInput, BadParameter, NotEnoughExamples, NotInFamily, RowsLeftOut
from thrifty.powers import estimated
from thrifty.powers.laws import laws_from_dict, laws_to_dict, mismatch
from thrifty.powers.paper_polynomials import Bases, lexicographically_largest, rows_for_search

UNIT = stats.uniform(-1, 2)
POSITIVE = stats.uniform(1, 1)


def table(n_rows=200, n_features=12, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, (n_rows, n_features))


def learn(X, y, max_degree=3, max_terms=2, **settings):
    life = thrifty.Lifetime(thrifty.Polynomials(max_degree, max_terms, **settings))
    return life.learn("task", X, y)


def refusal(error, X, y, *limits, **settings):
    """The failure behind the error."""
    with pytest.raises(error) as caught:
        learn(X, y, *limits, **settings)
    return caught.value.failure


def same(found, target, rel=1e-6):
    return set(found) == set(target) and all(
        found[term] == pytest.approx(target[term], rel=rel) for term in target
    )


@pytest.mark.parametrize("low, high", [(1, 2), (-1, 1), (0, 1)])
def test_scratch_then_reuse(low, high):
    X = table(low=low, high=high)
    life = thrifty.Lifetime(thrifty.Polynomials(3, 2))
    first = life.learn("first", X, 2 * X[:, 3] * X[:, 7] - 0.5 * X[:, 5])
    assert first.route == "scratch"
    assert same(first.model.terms_, {((3, 1), (7, 1)): 2.0, ((5, 1),): -0.5})
    Z = table(seed=1, low=low, high=high)
    again = life.learn("again", Z, Z[:, 3] * Z[:, 5] * Z[:, 7] + Z[:, 5] ** 3)
    assert again.route == "reused" and again.receipt.cells <= 60
    assert repr(again.model) == "x3 * x5 * x7 + x5^3" and len(life.representation) == 2


def test_features_seen_are_a_stage_of_their_own():
    X = table()
    life = thrifty.Lifetime(thrifty.Polynomials(3, 2))
    life.learn("product", X, 2 * X[:, 3] * X[:, 7])
    Z = table(seed=1)
    other = life.learn("other", Z, Z[:, 3] ** 2 - Z[:, 7])
    assert other.route == "bought" and other.failure.reason == "outside-span"
    assert other.receipt.cells < 200 and len(life.representation) == 2


def test_constants():
    X = table()
    assert learn(X, np.full(200, 2.5)).model.terms_ == {(): 2.5}
    zero = learn(X, np.zeros(200))
    assert zero.model.terms_ == {} and zero.receipt.cells == 0 and repr(zero.model) == "0"
    shifted = learn(X, 3 + X[:, 2] ** 2)
    assert same(shifted.model.terms_, {(): 3.0, ((2, 2),): 1.0})


@pytest.mark.parametrize("low, noise", [(-1, 0.03), (1, 0.02)])
def test_noisy_labels_give_the_right_terms_or_none(low, noise):
    life = thrifty.Lifetime(thrifty.Polynomials(3, 2, label_precision=noise))
    right = refused = 0
    stream = thrifty.streams.polynomials(
        12, 20, 5, 500, 3, 2, random_state=0, low=low, high=low + (1 if low > 0 else 2), noise=noise
    )
    for task in stream:
        try:
            learned = life.learn(task.name, task.X, task.y)
        except (NotInFamily, NotEnoughExamples):
            refused += 1
            continue
        assert set(learned.model.terms_) == set(task.target)
        right += 1
    assert right >= 9 and right + refused == 12


def test_too_high_a_degree_or_too_many_terms_are_failures():
    X = table(400, 6)
    for y in (X[:, 0] ** 5 + X[:, 1], X[:, 0] + X[:, 1] ** 2 + X[:, 2] ** 3):
        assert refusal(NotInFamily, X, y).reason == "no-polynomial-found"


def test_equal_features_are_not_guessed():
    X = table(300)
    X[:, 7] = X[:, 8]
    failure = refusal(NotInFamily, X, X[:, 0] + X[:, 7] ** 2)
    assert failure.reason == "equal-features" and failure.details["features"] == (7, 8)


def test_equal_features_among_known_ones_are_not_guessed():
    life = thrifty.Lifetime(thrifty.Polynomials(3, 2))
    X = table()
    life.learn("both", X, X[:, 3] + X[:, 5])
    Z = table(300, seed=1)
    Z[:, 3] = Z[:, 5]
    with pytest.raises(NotInFamily) as caught:
        life.learn("either", Z, Z[:, 3] ** 2)
    assert caught.value.failure.reason == "equal-features"
    assert len(life.representation) == 2


def test_constant_features_are_left_out():
    X = table(300)
    X[:, 7] = 2.0
    assert same(learn(X, 3 * X[:, 0] * X[:, 7]).model.terms_, {((0, 1),): 6.0})


def test_boolean_features_keep_the_lowest_power():
    X = np.round(table(400, 8, low=0, high=1))
    life = thrifty.Lifetime(thrifty.Polynomials(3, 2))
    first = life.learn("first", X, 2 * X[:, 0] * X[:, 1] - X[:, 2])
    Z = np.round(table(400, 8, seed=1, low=0, high=1))
    again = life.learn("again", Z, Z[:, 0] * Z[:, 1] * Z[:, 2] + 3 * Z[:, 2])
    one, other = 2 * X[:, 0] * X[:, 1] - X[:, 2], Z[:, 0] * Z[:, 1] * Z[:, 2] + 3 * Z[:, 2]
    np.testing.assert_allclose(first.model.predict(X), one, atol=1e-9)
    np.testing.assert_allclose(again.model.predict(Z), other, atol=1e-9)


def test_paper_mode_says_when_features_are_correlated():
    X = table(60_000, 4)
    X[:, 1] = np.where(X[:, 2] > 0, X[:, 0], X[:, 1])  # uniform still, and dependent
    paper = {"distribution": UNIT, "method": "paper", "smallest_coefficient": 2}
    failure = refusal(NotInFamily, X, 2 * X[:, 3], 1, 1, **paper)
    assert failure.reason == "correlated-features"


def test_too_few_rows():
    X = table(7, 30)
    failure = refusal(NotEnoughExamples, X, X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3])
    assert "too-few-rows" in failure.reason


def test_labels_must_be_finite():
    X = table()
    y = X[:, 0].copy()
    y[3] = np.inf
    with pytest.raises(BadInput, match="finite"):
        learn(X, y)
    y[3] = np.nan  # no label: the row is left out, and said
    with pytest.warns(RowsLeftOut, match="1 of 200 rows"):
        learn(X, y)
    with pytest.raises(BadInput, match="numbers"):
        learn(X, ["a"] * 200)


def test_a_distribution_that_does_not_match_is_said():
    wide = table(5000, 4, low=-1.2, high=1.2)
    paper = {"distribution": UNIT, "method": "paper", "smallest_coefficient": 8}
    failure = refusal(NotInFamily, wide, 9 * wide[:, 0], 1, 1, **paper)
    assert failure.reason == "distribution-mismatch" and failure.details["p_value"] < 1e-6


def test_matching_data_pass_the_test():
    features = np.arange(12)
    assert mismatch(UNIT, features, table()) is None
    assert mismatch(estimated(table(seed=1)), features, table()) is None
    assert mismatch(POSITIVE, features, table()) is not None


def test_laws_as_json():
    family = thrifty.Polynomials(3, 2, distribution=(UNIT, stats.norm(loc=1, scale=2)))
    data = json.loads(json.dumps(family.to_dict()))
    again = thrifty.Polynomials.from_dict(data)
    assert again.to_dict() == family.to_dict()
    assert again.distribution[1].mean() == 1.0
    free = laws_from_dict(json.loads(json.dumps(laws_to_dict(estimated(table())))))
    assert len(free) == 12 and len(free[0]) == 200
    for name in ("os", "norm.__class__", "fit", "kstest"):
        with pytest.raises(BadParameter, match="not a law"):
            laws_from_dict({"law": name, "args": [], "kwds": {}})


@pytest.mark.parametrize(
    "settings",
    [
        {"max_degree": 0},
        {"max_terms": 0},
        {"distribution": "uniform"},
        {"method": "paper"},
        {"smallest_coefficient": 0},
        {"distribution": stats.uniform},
    ],
)
def test_parameters_are_checked(settings):
    name = "distribution" if "method" in settings else next(iter(settings))
    with pytest.raises(BadParameter, match=name):
        thrifty.Polynomials(**{"max_degree": 3, "max_terms": 2, **settings})


def lexicographic_twin(target, features):
    """The twin: sort the monomials by their powers on the features."""
    return max(target, key=lambda term: [dict(term).get(feature, 0) for feature in features])


@pytest.mark.parametrize("law", [UNIT, POSITIVE, stats.norm()], ids=["[-1,1]", "[1,2]", "normal"])
@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_the_lexicographically_largest_monomial(law, seed):
    task = next(thrifty.streams.polynomials(1, 8, 4, 1, 4, 3, random_state=seed))
    oracle = ExactCorrelations(task.target, Bases(law, 4))
    known = {}
    left = dict(task.target)
    features = np.arange(8)
    while left:
        found = lexicographically_largest(oracle, features, known, 4)
        assert found == lexicographic_twin(left, range(8))
        coefficient = oracle.coefficient(found, known)
        assert coefficient == pytest.approx(left.pop(found), rel=1e-8)
        known[found] = coefficient
    assert oracle.nothing_left(known)


def test_the_coefficient_is_that_of_the_residual():
    # Of P itself, as the paper's text has it, x^2 + x on [1, 2] would give 4 for 1.
    target = {((0, 2),): 1.0, ((0, 1),): 1.0}
    oracle = ExactCorrelations(target, Bases(POSITIVE, 2))
    assert oracle.coefficient(((0, 2),), {}) == pytest.approx(1.0)
    assert oracle.coefficient(((0, 1),), {}) == pytest.approx(4.0)
    assert oracle.coefficient(((0, 1),), {((0, 2),): 1.0}) == pytest.approx(1.0)


def test_sample_mode_learns_where_rows_suffice():
    X = table(60_000, 6)
    y = 1.5 * X[:, 0] * X[:, 1] - 2.0 * X[:, 2]
    family = thrifty.Polynomials(2, 2, distribution=UNIT, method="paper", smallest_coefficient=1.4)
    life = thrifty.Lifetime(family)
    learned = life.learn("first", X, y)
    assert same(learned.model.terms_, {((0, 1), (1, 1)): 1.5, ((2, 1),): -2.0})
    assert learned.receipt.cells == X.size
    again = life.learn("again", table(60_000, 6, seed=1), 2 * table(60_000, 6, seed=1)[:, 2] ** 2)
    assert again.route == "reused" and again.receipt.max_cells_per_example <= 2 + 2


def test_sample_mode_predicts_the_rows_it_needs_and_refuses_below():
    X = table(2000, 6, low=1, high=2)
    paper = {"distribution": POSITIVE, "method": "paper"}
    failure = refusal(NotEnoughExamples, X, X[:, 0] * X[:, 1], 4, 3, **paper)
    assert failure.details["rows_needed"] > 1e7
    near = rows_for_search(table()[:, 0], Bases(UNIT, 2), 0, 1.0)
    far = rows_for_search(table()[:, 0], Bases(UNIT, 4), 0, 1.0)
    assert 1e2 < near < 1e5 < far < 1e8


def test_exact_oracle_and_the_naive_baseline():
    family = thrifty.Polynomials(3, 2, distribution=POSITIVE, method="features")
    life = thrifty.Lifetime(family)
    for task in thrifty.streams.polynomials(15, 12, 3, 30, 3, 2, random_state=1, low=1, high=2):
        learned = life.learn(task.name, task.X, KnownTarget(task.y, task.target))
        assert same(learned.model.terms_, task.target)
    assert sum(t.route == "scratch" for t in life.tasks) <= 3


def test_exact_oracle_refuses_more_terms_than_the_limit():
    X = table(30, 6)
    target = {((0, 1),): 1.0, ((1, 1),): 1.0, ((2, 1),): 1.0}
    known = KnownTarget(X[:, :3].sum(axis=1), target)
    failure = refusal(NotInFamily, X, known, distribution=UNIT, method="paper")
    assert failure.reason == "too-many-terms"
