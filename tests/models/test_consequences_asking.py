"""What asking in order is for, by its consequences: a bill, an answer, a loss on new rows."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import thrifty
from tests.models.tables import ask_in_order, table_of
from thrifty.models.asking.ladder import Prefix, Prefixes
from thrifty.models.asking.order import find_order
from thrifty.models.fits.calibration import Scaling
from thrifty.stopping import Worth

PLAIN = Scaling(1.0, np.zeros(2))


class Says:
    """A model whose probability is the last feature it is given."""

    classes_ = np.array([0, 1])

    def predict_proba(self, values):
        p = np.asarray(values, dtype=float)[:, -1]
        return np.column_stack([1 - p, p])


def three_prefixes(first, second, codes):
    """Nothing asked, a free feature, one for 1; what each says of the rows they were made on."""
    n, share = len(codes), codes.mean()
    shares = np.array([1 - share, share])
    seen = [np.full(n, share), first, second]
    parts = (
        Prefix((), 0.0, None, PLAIN, 1.0),
        Prefix((0,), 0.0, Says(), PLAIN, 1.0),
        Prefix((0, 1), 1.0, Says(), PLAIN, 0.0),
    )
    said = np.array([np.column_stack([1 - p, p]) for p in seen])
    return Prefixes(parts, np.array([0, 1]), shares, said, codes, np.ones(n))


def asked(prefixes, first, second, **given):
    values = np.column_stack([first, second])
    return ask_in_order(prefixes, lambda rows, f: values[np.ix_(rows, f)], len(values), **given)


def test_worth_goes_on_where_rows_like_this_one_learned_something():
    """A second question settles rows at a half, and changes nothing for rows at a third.

    Both have about the same present loss; what all rows learned on average is not worth it.
    """
    rng = np.random.default_rng(0)
    half = np.arange(1200) % 2 == 0
    first = np.where(half, 0.5, 0.35)
    codes = (rng.random(1200) < first).astype(np.int64)
    second = np.where(half, np.where(codes, 0.97, 0.03), 0.35)
    prefixes = three_prefixes(first, second, codes)
    answers = asked(prefixes, first, second, stop=Worth(rate=0.35))
    assert (answers.asked[half] == 2).all()
    assert (answers.asked[~half] == 1).all() and set(answers.stopped[~half]) == {"worth"}


def test_money_that_does_not_last_goes_to_the_least_certain_rows():
    rng = np.random.default_rng(1)
    first = rng.uniform(0.02, 0.98, 40)
    codes = (rng.random(40) < first).astype(np.int64)
    second = np.where(codes, 0.9, 0.1)
    prefixes = three_prefixes(first, second, codes)
    answers = asked(prefixes, first, second, stop=thrifty.Sure(0.999), spend=10.0)
    went_on = answers.asked == 2
    assert answers.cost.sum() <= 10.0 and went_on.sum() == 10
    doubt = np.abs(first - 0.5)
    assert doubt[went_on].max() < doubt[~went_on].min()


def in_a_panel(owned, wanted):
    """Each of the first three features costs 3, all of them together 6; others cost 5."""
    missing = set(wanted) - set(owned)
    return min(3.0 * len(missing & {0, 1, 2}), 6.0) + 5.0 * len(missing - {0, 1, 2})


def after_a_visit(owned, wanted):
    """The first three features take one visit for 6, and nothing more; the fourth costs 5."""
    missing = set(wanted) - set(owned)
    visit = missing & {0, 1, 2} and not set(owned) & {0, 1, 2}
    return 6.0 * bool(visit) + 5.0 * (3 in missing)


def numbers(effects, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, len(effects)))
    return table_of(X, (rng.random(600) < 1 / (1 + np.exp(-(X @ effects)))).astype(np.int64))


def test_after_a_visit_the_rest_of_it_is_free_and_comes_next():
    """As expensive as the first, they would come after the fourth, and all would cost 23."""
    order = find_order(numbers([1.5, 0.8, 0.8, 0.9]), after_a_visit, seed=0)
    assert set(order.features()[:3]) == {0, 1, 2}


def test_a_panel_costs_what_all_of_it_costs():
    """One of its features tells most of what it tells, for half its price: that comes first."""
    order = find_order(numbers([1.5, 0.6, 0.6, *[0.0] * 4]), in_a_panel, [(0, 1, 2)])
    assert order.steps[:2] == ((), (0,))


def overconfident(rng, n):
    """Five noisy copies of one number: to a naive model five witnesses."""
    y = rng.random(n) < 0.2
    hidden = np.where(y, 0.8, -0.2) + rng.normal(size=n)
    return hidden[:, None] + 0.1 * rng.normal(size=(n, 5)), y.astype(int)


@pytest.fixture(scope="module")
def naive():
    """A lifetime with a user's overconfident model, whose rows were bought by class."""
    rng = np.random.default_rng(3)
    X, y = overconfident(rng, 1500)
    life = thrifty.Lifetime(thrifty.Models(GaussianNB()), random_state=0)
    life.learn("ill", X, y, spend="45 %")
    return life


def test_probabilities_after_stopping_are_scaled_and_add_up_to_the_share(naive):
    """Unscaled .70 nats; with the rows as they were bought, half of each class, .38 of them ill."""
    X, y = overconfident(np.random.default_rng(4), 4000)
    p = naive.predict("ill", X, stop=thrifty.Sure(0.97)).probabilities[:, 1]
    loss = -np.log(np.where(y, p, 1 - p)).mean()
    share = -(0.2 * np.log(0.2) + 0.8 * np.log(0.8))
    assert loss < 0.95 * share
    assert 0.8 < p.mean() / y.mean() < 1.25


def test_with_nothing_asked_the_answer_is_the_share_of_all_rows(naive):
    """Not that of the rows which were bought, of which half are ill."""
    X, _ = overconfident(np.random.default_rng(5), 3)
    p = naive.predict("ill", X, spend=0).probabilities[:, 1]
    assert np.allclose(p, 0.2, atol=0.03)


@pytest.mark.parametrize("seed", range(6))
def test_a_first_answer_is_worth_its_price_whatever_the_class_shares_are(seed):
    """All rows begin alike, but for the last bit of what is computed twice: none stops there."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(391 + seed, 4))
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", X[:190], X[:190, 1] + 0.1 * rng.normal(size=190) > 0.3, spend="100 %")
    made = life.predict("ill", X[190:], stop=Worth(errors=[100, 100]))
    assert (made.receipt.cells_per_row > 0).all(), set(made.stopped)
