"""The theorems on polynomials, and what the default mode promises, on seeded streams."""

import pytest
from scipy import stats

import thrifty
from paper_tables.known_target import KnownTarget
from tests.guarantees.lives import bill, cells, scratch
from tests.guarantees.seeds import seeds, seen, shifted
from thrifty.errors import NotEnoughExamples, NotInFamily


def lived(family, stream, oracle=False, refused=0):
    """A lifetime that has learned the stream; every target must come out exactly.

    So many may be refused: the search of the default mode does not try every support, and which
    ones it tries depends on the order of rows, a secret of each lifetime.
    """
    life = thrifty.Lifetime(family)
    for task in stream:
        labels = KnownTarget(task.y, task.target) if oracle else task.y
        try:
            found = life.learn(task.name, task.X, labels).model.terms_
        except NotInFamily:
            refused -= 1
            assert refused >= 0, f"{task.name} is refused"
            continue
        assert set(found) == set(task.target), task.name
        for term, coefficient in task.target.items():
            assert found[term] == pytest.approx(coefficient, rel=1e-6)
    return life


@pytest.mark.parametrize("low, law", [(-1, stats.uniform(-1, 2)), (1, stats.uniform(1, 1))])
@pytest.mark.parametrize("method", ["paper", "features"])
def test_paper_mode_keeps_its_theorem(method, low, law):
    size = {"n_tasks": 40, "n_features": 40, "n_metafeatures": 5, "n_examples": 80}
    limits = {"max_degree": 4, "max_terms": 3}
    high = 2 if low == 1 else 1
    stream = thrifty.streams.polynomials(
        *size.values(), *limits.values(), random_state=shifted(0), low=low, high=high
    )
    life = lived(thrifty.Polynomials(4, 3, law, method=method), stream, oracle=True)
    assert scratch(life) <= 5 and len(life.representation) <= 5
    each, bound = 5 + 3 * 4, thrifty.bounds.polynomials(**size, **limits)
    if method == "features":  # at most K columns of degree d, however many terms there are
        each, bound = 5 * 4, thrifty.bounds.powers_features(**size, max_degree=4)
    assert bound < 40 * 40 * 80 * 0.6  # far below every cell, or nothing is said
    assert bill(life) <= bound
    for task in life.tasks:  # Lemma poly-lfd
        assert task.route == "scratch" or task.receipt.max_cells_per_example <= each


def test_paper_mode_on_samples_refuses_and_stays_clean():
    law = stats.uniform(1, 1)
    life = thrifty.Lifetime(thrifty.Polynomials(4, 3, law, method="paper"))
    sizes, values = (5, 20, 4, 500, 4, 3), {"low": 1, "high": 2}
    for task in thrifty.streams.polynomials(*sizes, random_state=shifted(0), **values):
        with pytest.raises(NotEnoughExamples) as caught:
            life.learn(task.name, task.X, task.y)
        assert caught.value.failure.details["rows_needed"] > 1e7
    assert len(life) == 0 and len(life.representation) == 0


@pytest.mark.parametrize("low, high", [(-1, 1), (1, 2)])
def test_default_mode_in_small(low, high):
    stream = thrifty.streams.polynomials(
        25, 15, 5, 300, 3, 2, random_state=shifted(3), low=low, high=high
    )
    life = lived(thrifty.Polynomials(3, 2), stream)
    assert len(life.representation) <= 5
    assert cells(life, "reused").max() <= 200 and len(cells(life, "reused")) >= 18


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("low, high", [(-1, 1), (1, 2)])
def test_default_mode_at_length(low, high, seed):
    stream = thrifty.streams.polynomials(
        100, 100, 10, 500, 4, 3, random_state=seed, low=low, high=high
    )
    life = lived(thrifty.Polynomials(4, 3), stream, refused=2)
    assert len(life.representation) <= 10
    assert cells(life, "reused").max() <= 1000
    assert cells(life, "scratch").max() <= seen(300, 500) * 100


@pytest.mark.parametrize("seed, number", [(2007, 13), (2012, 19), (2014, 15)])
def test_rivals_without_a_constant_are_compared_too(seed, number):
    """Others fitted nearly as well with a constant, and the right one was not among the sixty."""
    stream = thrifty.streams.polynomials(
        20, 12, 5, 400, 3, 2, random_state=seed, low=1, high=2, noise=0.05
    )
    task, family = list(stream)[number], thrifty.Polynomials(3, 2, label_precision=0.05)
    try:
        model = thrifty.Lifetime(family, random_state=0).learn("one", task.X, task.y).model
    except NotInFamily:
        return  # a refusal is no wrong model
    assert set(model.terms_) == set(task.target)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [shifted(seed) for seed in (7, 9, 11, 13, 15, 17)])
@pytest.mark.parametrize("level", [0.03, 0.05])
def test_noise_gives_the_right_terms_or_a_refusal(seed, level):
    life = thrifty.Lifetime(thrifty.Polynomials(3, 2, label_precision=level))
    stream = thrifty.streams.polynomials(
        20, 12, 5, 400, 3, 2, random_state=seed, low=1, high=2, noise=level
    )
    learned = 0
    for task in stream:
        try:
            model = life.learn(task.name, task.X, task.y).model
        except (NotEnoughExamples, NotInFamily):
            continue
        learned += 1
        assert set(model.terms_) == set(task.target), task.name
    assert learned >= 8 and len(life.representation) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("low, high", [(-1, 1), (1, 2)])
def test_many_features_of_degree_two(low, high):
    for seed in seeds(4):
        stream = thrifty.streams.polynomials(
            2, 1000, 10, 500, 2, 5, random_state=seed, low=low, high=high
        )
        life = lived(thrifty.Polynomials(2, 5), stream, refused=seen(0, 1))
        assert cells(life, "scratch").max() <= 200 * 1000
