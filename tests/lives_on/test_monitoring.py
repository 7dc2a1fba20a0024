"""The two promises of monitoring: few false alarms whatever the reference, falls found early.

Outcomes come as they come: a third of them is positive on average, not exactly. Rates are counted
over seeded runs and compared with the most that a fair test would show in 1 of 100 sets of runs.
"""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from thrifty.lifetime.monitoring import Reference, watch

RUNS = 600


def scores(rng, y, distance, fall=0.0):
    """Normal in both classes, ``distance`` apart; ``fall`` moves the positives."""
    return rng.normal(size=len(y)) + (distance - fall) * y


def runs(seed, rows, outcomes, auroc=0.80, after=None):
    """Of seeded runs the outcome at which each cried, None where it did not."""
    distance = ndtri(auroc) * np.sqrt(2)
    fall = 0.0 if after is None else distance - ndtri(after) * np.sqrt(2)
    rng = np.random.default_rng(seed)
    for _ in range(RUNS):
        known = np.arange(rows) % 3 == 0
        s = scores(rng, known, distance)
        y = rng.random(outcomes) < 1 / 3
        yield watch(Reference(s[~known], s[known]), scores(rng, y, distance, fall), y).alarm_at


@pytest.mark.parametrize(("rows", "auroc"), [(1000, 0.80), (60, 0.80), (1000, 0.99), (60, 0.99)])
def test_false_alarms_in_at_most_five_of_a_hundred_years(rows, auroc):
    cried = sum(at is not None for at in runs([rows, round(100 * auroc)], rows, 3 * 365, auroc))
    assert cried <= binom.ppf(0.99, RUNS, 0.05)


def test_a_fall_to_70_is_found_within_300_outcomes_as_they_come():
    found = sum(at is not None and at < 300 for at in runs(7, 1000, 300, after=0.70))
    assert found >= binom.ppf(0.01, RUNS, 0.94)


def test_a_fall_after_600_good_outcomes_is_found_within_600():
    rng, found = np.random.default_rng(600), 0
    before, after = (ndtri(auroc) * np.sqrt(2) for auroc in (0.80, 0.70))
    for _ in range(200):
        known, y = np.arange(1000) % 3 == 0, rng.random(1200) < 1 / 3
        s, new = scores(rng, known, before), scores(rng, y, before)
        new[600:] += np.where(y, -1, 1)[600:] * (before - after) / 2
        at = watch(Reference(s[~known], s[known]), new, y).alarm_at
        found += at is not None and at >= 600
    assert found >= binom.ppf(0.01, 200, 0.72)


def test_scores_that_move_along_in_both_classes_are_no_fall():
    """The AUROC is what it was: a model that is everywhere surer orders rows as before."""
    rng, cried = np.random.default_rng(3), 0
    for _ in range(200):
        known, y = np.arange(900) % 3 == 0, rng.random(350) < 1 / 3
        s, moved = scores(rng, known, 1.2), scores(rng, y, 1.2) + rng.choice([-1.0, 1.0])
        cried += watch(Reference(s[~known], s[known]), moved, y).alarm_at is not None
    assert cried <= binom.ppf(0.99, 200, 0.05)


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_a_model_that_says_the_same_of_everybody_is_never_worse(value):
    y = np.arange(900) % 3 == 0
    same = np.full(900, value)
    assert watch(Reference(same[~y], same[y]), same, y).sentence.startswith("still as good")


def test_it_speaks_where_the_classes_are_rare_and_says_so_before():
    rng = np.random.default_rng(5)
    known = np.arange(2000) % 10 == 0
    s = scores(rng, known, 1.2)
    reference = Reference(s[~known], s[known])
    y = rng.random(2000) < 0.1
    good = scores(rng, y, 1.2)
    # three quarters of a block are needed: about 550 outcomes of which a tenth is positive
    assert watch(reference, good[:400], y[:400]).sentence == "too few to say"
    assert watch(reference, good[:700], y[:700]).sentence.startswith("still as good")
    assert watch(reference, scores(rng, y, 0.0), y).alarm_at < 500
