"""The family of monomials: what it learns, what it refuses, and what it says then."""

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.errors import BadInput, BadParameter, NotEnoughExamples, NotInFamily
from thrifty.powers.evidence import MonomialTask
from thrifty.powers.representation import PowersRepresentation
from thrifty.powers.values import BoughtValues, shuffled


def table(n_rows=200, n_features=50, seed=0, low=1.0, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, (n_rows, n_features))


def learn(X, y, max_degree=5, **settings):
    return thrifty.Lifetime(thrifty.Monomials(max_degree, **settings)).learn("task", X, y)


def refusal(error, X, y, max_degree=5, **settings):
    """The failure behind the error; the representation must have stayed empty."""
    life = thrifty.Lifetime(thrifty.Monomials(max_degree, **settings))
    with pytest.raises(error) as caught:
        life.learn("task", X, y)
    assert len(life.representation) == 0 and "task" not in life
    return getattr(caught.value, "failure", None), str(caught.value)


def test_scratch_then_reuse():
    X = table()
    life = thrifty.Lifetime(thrifty.Monomials(max_degree=6))
    first = life.learn("first", X, X[:, 3] ** 2 * X[:, 17])
    assert first.route == "scratch" and repr(first.model) == "x3^2 * x17"
    assert first.failure.reason == "empty-representation"
    again = life.learn("again", table(seed=1), table(seed=1)[:, [3, 3, 3, 3, 17, 17]].prod(axis=1))
    assert again.route == "reused" and again.model.exponents_ == {3: 4, 17: 2}
    assert again.receipt.cells == 2  # one row of two features
    assert len(life.representation) == 1


def test_the_root_of_a_known_square_is_known():
    X = table()
    life = thrifty.Lifetime(thrifty.Monomials(max_degree=6))
    life.learn("square", X, X[:, 3] ** 2 * X[:, 5] ** 2)
    Z = table(seed=2)
    assert life.learn("root", Z, Z[:, 3] * Z[:, 5]).route == "reused"


def test_features_seen_are_a_stage_of_their_own():
    X = table()
    life = thrifty.Lifetime(thrifty.Monomials(max_degree=6))
    life.learn("product", X, X[:, 3] * X[:, 5] * X[:, 7])
    Z = table(seed=2)
    other = life.learn("other", Z, Z[:, 3] ** 2 * Z[:, 5])
    assert other.route == "bought" and other.model.exponents_ == {3: 2, 5: 1}
    assert other.failure.reason == "outside-span"
    assert other.receipt.cells < 100 and len(life.representation) == 2


def test_the_constant_costs_nothing():
    learned = learn(table(), np.ones(200))
    assert learned.receipt.cells == 0 and learned.model.exponents_ == {}
    assert repr(learned.model) == "1"


@pytest.mark.parametrize("decimals", [1, 2, 4])
def test_coarse_values_take_more_rows_and_stay_exact(decimals):
    exact, cells = 0, []
    life = thrifty.Lifetime(thrifty.Monomials(8))
    stream = thrifty.streams.monomials(25, 60, 4, 150, 8, random_state=3, decimals=decimals)
    for task in stream:
        learned = life.learn(task.name, task.X, task.y)
        exact += learned.model.exponents_ == task.target
        cells += [learned.receipt.cells] if learned.route == "reused" else []
    assert exact == 25
    if decimals == 1:
        assert np.median(cells) > 2 * len(life.representation.features)


def test_binary_valued_features():
    X = np.round(table())
    assert learn(X, X[:, 0] * X[:, 1]).model.exponents_ == {0: 1, 1: 1}


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_noisy_labels(noise):
    life = thrifty.Lifetime(thrifty.Monomials(8, label_precision=noise))
    for task in thrifty.streams.monomials(25, 80, 5, 250, 8, random_state=2, noise=noise):
        assert life.learn(task.name, task.X, task.y).model.exponents_ == task.target
    assert len(life.representation) <= 5


def test_a_few_spoilt_labels_are_survived():
    X = table(400)
    y = X[:, 3] ** 2 * X[:, 17] * np.exp(0.02 * np.random.default_rng(1).standard_normal(400))
    y[::40] *= 5.0
    assert learn(X, y, label_precision=0.02).model.exponents_ == {3: 2, 17: 1}


def test_noise_that_was_not_stated_is_refused():
    X = table()
    y = X[:, 0] * np.exp(0.03 * np.random.default_rng(1).standard_normal(200))
    failure, _message = refusal(NotInFamily, X, y)
    assert failure.reason == "no-powers-fit" and failure.details["miss"] > 0.01
    refusal((NotInFamily, NotEnoughExamples), X, y, label_precision=0.003)


def test_degree_above_the_limit():
    X = table()
    failure, message = refusal(NotInFamily, X, X[:, 0] ** 4 * X[:, 1] ** 4)
    assert failure.reason == "degree-above-limit" and failure.details["degree"] == 8
    assert "x0^4 * x1^4" in message


def test_labels_that_are_no_monomial():
    X = table()
    for y in (X[:, 0] + X[:, 1], 3 * X[:, 0], np.random.default_rng(0).uniform(1, 2, 200)):
        failure, message = refusal(NotInFamily, X, y)
        assert failure.reason == "no-powers-fit" and "mean square" in message


def test_too_few_rows():
    X = table(n_rows=3)
    failure, message = refusal(NotEnoughExamples, X, X[:, 0] * X[:, 1])
    assert failure.reason == "too-few-rows" and failure.details["rows_needed"] > 3
    assert "Bring more examples" in message


def test_constant_and_equal_features():
    X = table()
    X[:, 7] = X[:, 9] = 2.0
    failure, _message = refusal(NotInFamily, X, X[:, 0] * X[:, 7] ** 2)
    assert failure.reason == "constant-features" and failure.details["feature"] in (7, 9)
    Z = table()
    Z[:, 7] = Z[:, 8]
    failure, _message = refusal(NotInFamily, Z, Z[:, 0] * Z[:, 7] ** 2)
    assert failure.reason == "equal-features" and failure.details["features"] == (7, 8)


def test_equal_features_among_known_ones_are_not_guessed():
    X = table()
    life = thrifty.Lifetime(thrifty.Monomials(6))
    life.learn("a", X, X[:, 3] * X[:, 5])
    life.learn("b", table(seed=1), table(seed=1)[:, 3] ** 2 * table(seed=1)[:, 5])
    Z = table(seed=2)
    Z[:, 3] = Z[:, 5]
    with pytest.raises(NotInFamily) as caught:
        life.learn("c", Z, Z[:, 3] ** 2)
    assert caught.value.failure.reason == "equal-features"
    assert len(life.representation) == 2


@pytest.mark.parametrize("value", [0.0, -1.5])
def test_values_that_have_no_log(value):
    X = table()
    X[:, 4] = value
    _failure, message = refusal(BadInput, X, X[:, 0])
    assert "x4" in message and "above 0" in message and "Polynomials" in message


@pytest.mark.parametrize(
    "bad, says", [(np.inf, "log_labels"), (-1.0, "positive"), (0.0, "underflow")]
)
def test_labels_that_have_no_log(bad, says):
    X = table()
    y = X[:, 0].copy()
    y[7] = bad
    _failure, message = refusal(BadInput, X, y)
    assert says in message and "7" in message


def test_powers_that_overflow_are_learned_from_logs():
    X = table() * 1e60
    logs = np.log(X) @ (np.eye(50)[2] * 4 + np.eye(50)[9] * 3)
    learned = learn(X, logs, max_degree=8, log_labels=True)
    assert learned.model.exponents_ == {2: 4, 9: 3}
    assert np.isinf(learned.model.predict(X)).all()
    np.testing.assert_allclose(learned.model.predict_log(X), logs)


@pytest.mark.parametrize(
    "settings",
    [{"max_degree": 0}, {"max_degree": 2.5}, {"method": "fast"}, {"risk": 0}, {"delta": 2},
     {"label_precision": -1}, {"log_labels": "yes"}],
)  # fmt: skip
def test_parameters_are_checked(settings):
    name = next(iter(settings))
    with pytest.raises(BadParameter, match=name):
        thrifty.Monomials(**{"max_degree": 3, **settings})


def test_prices_choose_the_row_basis_in_paper_mode():
    X = table(1500, 10)
    prices = np.ones(10)
    prices[3] = 100.0
    life = thrifty.Lifetime(thrifty.Monomials(4, method="paper"), prices=prices)
    life.learn("a", X, X[:, 3] * X[:, 5])
    Z = table(1500, 10, seed=1)
    cheap = life.learn("b", Z, Z[:, 3] ** 2 * Z[:, 5] ** 2)
    assert cheap.route == "reused" and cheap.receipt.per_feature["x3"] < 5
    assert cheap.receipt.per_feature["x5"] > 100


def test_paper_mode_says_when_rows_are_too_few_and_keeps_its_memory_clean():
    X = table(60, 80)
    failure, message = refusal(
        NotEnoughExamples, X, X[:, :4].prod(axis=1), max_degree=6, method="paper"
    )
    assert failure.reason == "too-few-rows" and failure.details["rows_needed"] > 150
    assert "predicted" in message


def test_paper_mode_says_when_features_are_correlated():
    X = table(3000, 12)
    X[:, 1] = X[:, 0] * 0.9 + 0.1 * X[:, 1]
    failure, _message = refusal(NotInFamily, X, X[:, 0] * X[:, 2], method="paper")
    assert failure.reason == "correlated-features" and failure.details["correlation"] > 0.9
    assert learn(X, X[:, 0] * X[:, 2]).model.exponents_ == {0: 1, 2: 1}  # the default does not mind


def test_the_representation_is_a_value():
    known = PowersRepresentation().extended([((0, 2), (1, 2))])
    assert known.extended([((0, 1), (1, 1))]) == known  # the span grew by nothing
    assert PowersRepresentation.from_dict(known.to_dict()) == known
    assert list(known) == [((0, 2), (1, 2))] and len(known) == 1
    assert str(PowersRepresentation()) == "nothing learned yet"


def rounded(seed, decimals=1, n_rows=200):
    values = np.random.default_rng(seed).uniform(0.5, 3, (n_rows, 10))
    return values if decimals is None else np.round(values, decimals)


def test_a_known_feature_is_not_taken_for_a_product_that_agrees_on_one_coarse_row():
    """x9^3 where x5 = x9 on the first row, x9^2 where x5 = 1 there: 11 of 100 seeds once."""
    for seed in range(60):
        X = rounded(seed)
        life = thrifty.Lifetime(thrifty.Monomials(max_degree=6))
        life.learn("one", X, X[:, 9])
        product = life.learn("product", X, X[:, 5] * X[:, 9] ** 2)
        assert product.model.exponents_ == {5: 1, 9: 2}, seed


def test_a_constant_is_held_against_every_label():
    """y = x5 is 1 on the first row that is bought: the constant fits it, and no other label."""
    X = rounded(3)
    first = shuffled(200)[0]
    X[first, 5] = 1.0
    life = thrifty.Lifetime(thrifty.Monomials(max_degree=6))
    life.learn("one", X, X[:, 9])
    assert life.learn("other", X, X[:, 5]).model.exponents_ == {5: 1}


def test_coarse_features_among_fine_ones_are_remembered():
    """The known feature is fine, the missing one is 1 on half of the rows."""
    wrong = 0
    for seed in range(20):
        X = rounded(seed, decimals=None)
        X[:, 5] = np.random.default_rng(seed).integers(1, 3, 200)
        life = thrifty.Lifetime(thrifty.Monomials(max_degree=6))
        life.learn("one", X, X[:, 9])
        product = life.learn("product", X, X[:, 5] * X[:, 9] ** 2)
        wrong += product.model.exponents_ != {5: 1, 9: 2}
    assert wrong == 0


def test_a_model_is_held_against_every_row_whose_cells_are_owned():
    """Spoil one label: where the cells are owned it is seen, for nothing."""
    X = rounded(0, decimals=None)
    rules = thrifty.Monomials(max_degree=6).rules
    y = (X[:, 9] * X[:, 2]) ** 2
    y[shuffled(200)[-1]] *= 1.5
    reader = BoughtValues(Cells(X), positive=True)
    target, monomial = np.log(y), ((2, 2), (9, 2))
    task = MonomialTask(reader, target, rules)
    assert task.verified(monomial, 5.0)[0] == "right"
    reader.values(np.arange(200), np.array([2, 9]))
    assert task.verified(monomial, 5.0)[0] == "wrong"
